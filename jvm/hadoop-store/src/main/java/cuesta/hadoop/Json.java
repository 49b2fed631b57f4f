package cuesta.hadoop;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Just enough JSON for questions and answers, so that the jar needs no library.
 *
 * <p>Numbers without a fraction are longs, of 64 bits without a sign where they are not negative.
 */
final class Json {
  private static final int DEPTH_MAX = 64;

  private final String text;
  private int place;

  private Json(String text) {
    this.text = text;
  }

  /** A question with its fields: name, value, name, value ...; values are texts, numbers, null. */
  static String question(String name, Object... fields) {
    StringBuilder to = new StringBuilder("{\"do\":").append(quoted(name));
    for (int i = 0; i < fields.length; i += 2) {
      Object value = fields[i + 1];
      String written = value instanceof String word ? quoted(word) : String.valueOf(value);
      to.append(',').append(quoted((String) fields[i])).append(':').append(written);
    }
    return to.append('}').toString();
  }

  /** Parses an object. Errors: IOException for anything else. */
  @SuppressWarnings("unchecked")
  static Map<String, Object> parse(String text) throws IOException {
    Json parser = new Json(text);
    try {
      Object value = parser.value(0);
      parser.skipBlank();
      if (parser.place == text.length() && value instanceof Map<?, ?> found) {
        return (Map<String, Object>) found;
      }
    } catch (IndexOutOfBoundsException | NumberFormatException error) {
      throw new IOException("the store answered what is no JSON", error);
    }
    throw new IOException("the store answered what is no JSON");
  }

  private static String quoted(String word) {
    StringBuilder to = new StringBuilder("\"");
    for (int i = 0; i < word.length(); i++) {
      char c = word.charAt(i);
      if (c == '"' || c == '\\') {
        to.append('\\').append(c);
      } else if (c < ' ' || isAlone(word, i)) {
        to.append(String.format("\\u%04x", (int) c));
      } else {
        to.append(c);
      }
    }
    return to.append('"').toString();
  }

  /** Whether a character is half of a pair without the other half: it stands for a byte. */
  private static boolean isAlone(String word, int at) {
    char c = word.charAt(at);
    if (Character.isHighSurrogate(c)) {
      return at + 1 == word.length() || !Character.isLowSurrogate(word.charAt(at + 1));
    }
    return Character.isLowSurrogate(c)
        && (at == 0 || !Character.isHighSurrogate(word.charAt(at - 1)));
  }

  private Object value(int depth) throws IOException {
    if (depth > DEPTH_MAX) {
      throw new IOException("the store answered what is no JSON");
    }
    skipBlank();
    char c = text.charAt(place);
    switch (c) {
      case '{':
        return object(depth);
      case '[':
        return list(depth);
      case '"':
        return string();
      case 't':
        return word("true", true);
      case 'f':
        return word("false", false);
      case 'n':
        return word("null", null);
      default:
        return number();
    }
  }

  private Map<String, Object> object(int depth) throws IOException {
    Map<String, Object> found = new LinkedHashMap<>();
    place++;
    for (skipBlank(); text.charAt(place) != '}'; skipBlank()) {
      if (!found.isEmpty()) {
        expect(',');
        skipBlank();
      }
      String name = string();
      skipBlank();
      expect(':');
      found.put(name, value(depth + 1));
    }
    place++;
    return found;
  }

  private List<Object> list(int depth) throws IOException {
    List<Object> found = new ArrayList<>();
    place++;
    for (skipBlank(); text.charAt(place) != ']'; skipBlank()) {
      if (!found.isEmpty()) {
        expect(',');
      }
      found.add(value(depth + 1));
    }
    place++;
    return found;
  }

  private String string() throws IOException {
    expect('"');
    int end = text.indexOf('"', place);
    if (end >= 0 && text.substring(place, end).indexOf('\\') < 0) {
      String plain = text.substring(place, end);
      place = end + 1;
      return plain;
    }
    StringBuilder to = new StringBuilder();
    for (char c = text.charAt(place++); c != '"'; c = text.charAt(place++)) {
      to.append(c == '\\' ? escaped() : c);
    }
    return to.toString();
  }

  private char escaped() throws IOException {
    char c = text.charAt(place++);
    switch (c) {
      case 'b':
        return '\b';
      case 'f':
        return '\f';
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      case 'u':
        place += 4;
        return (char) Integer.parseInt(text.substring(place - 4, place), 16);
      default:
        return c;
    }
  }

  /** Parses a number: a Double, or a Long, which is unsigned from 2^63 on. */
  private Object number() {
    int start = place;
    boolean isWhole = true;
    for (; place < text.length() && "+-.eE0123456789".indexOf(text.charAt(place)) >= 0; place++) {
      isWhole &= ".eE".indexOf(text.charAt(place)) < 0;
    }
    String digits = text.substring(start, place);
    if (!isWhole) {
      return Double.valueOf(digits);
    }
    return digits.startsWith("-") ? Long.parseLong(digits) : Long.parseUnsignedLong(digits);
  }

  private Object word(String name, Object value) throws IOException {
    if (!text.startsWith(name, place)) {
      throw new IOException("the store answered what is no JSON");
    }
    place += name.length();
    return value;
  }

  private void expect(char wanted) throws IOException {
    if (text.charAt(place++) != wanted) {
      throw new IOException("the store answered what is no JSON");
    }
  }

  private void skipBlank() {
    while (place < text.length() && " \t\r\n".indexOf(text.charAt(place)) >= 0) {
      place++;
    }
  }
}
