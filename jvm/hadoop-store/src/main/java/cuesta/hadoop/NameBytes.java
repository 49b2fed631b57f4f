package cuesta.hadoop;

import java.io.ByteArrayOutputStream;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/**
 * Names of files that are not UTF-8: a byte that is no part of it is the character {@code \\udc80}
 * to {@code \\udcff} in a text, as on the wire of the store.
 *
 * <p>Java's paths keep such bytes, but give and take them by URIs of files alone; of other names
 * too, where the locale of the process has other characters.
 */
final class NameBytes {
  private static final int ASCII_END = 0x80;

  /** Added to a byte that is no part of UTF-8, gives the character that stands for it. */
  private static final int ESCAPE = 0xdc00;

  private static final int HEX = 16;
  private static final String FILES = "file://";

  private NameBytes() {}

  /** Whether a character stands for a byte. */
  private static boolean isByte(char c) {
    return c >= ESCAPE + 0x80 && c <= ESCAPE + 0xff;
  }

  /** Returns the text of a name of the system. */
  static String text(Path name) {
    String text = name.toString();
    if (isAscii(text)) {
      return text;
    }
    String raw = name.toAbsolutePath().toUri().getRawPath();
    byte[] bytes = decoded(raw.replaceAll("/+$", "").replaceAll("^.*/", ""));
    StringBuilder to = new StringBuilder();
    for (int at = 0; at < bytes.length; ) {
      int count = characterAt(bytes, at);
      if (count == 0) {
        to.append((char) (ESCAPE + (bytes[at] & 0xff)));
      } else {
        to.append(new String(bytes, at, count, StandardCharsets.UTF_8));
      }
      at += Math.max(count, 1);
    }
    return to.toString();
  }

  /** Returns the name of the system that a text stands for. */
  static Path path(String text) {
    return isAscii(text) ? Path.of(text) : Path.of(URI.create(uri("/" + text))).getFileName();
  }

  /** Returns the path that a text with a slash at its beginning stands for. */
  static Path absolute(String text) {
    return isAscii(text) ? Path.of(text) : Path.of(URI.create(uri(text)));
  }

  /** Returns the URI of a file; a character that stands for a byte becomes that byte. */
  private static String uri(String text) {
    StringBuilder to = new StringBuilder(FILES);
    for (int at = 0; at < text.length(); ) {
      int point = text.codePointAt(at);
      if (point == '/') {
        to.append('/');
      } else if (isEscape(text, at)) {
        append(to, (byte) (point - ESCAPE));
      } else {
        for (byte one : Character.toString(point).getBytes(StandardCharsets.UTF_8)) {
          append(to, one);
        }
      }
      at += Character.charCount(point);
    }
    return to.toString();
  }

  /** Whether Java's paths have a text as it is in each locale. */
  private static boolean isAscii(String text) {
    return text.chars().allMatch(c -> c < ASCII_END);
  }

  /** Whether a character of a text stands for a byte, and is not half of a surrogate pair. */
  private static boolean isEscape(String text, int at) {
    boolean isPair = at > 0 && Character.isHighSurrogate(text.charAt(at - 1));
    return !isPair && isByte(text.charAt(at));
  }

  private static void append(StringBuilder to, byte one) {
    to.append(String.format("%%%02x", one));
  }

  private static byte[] decoded(String raw) {
    ByteArrayOutputStream to = new ByteArrayOutputStream();
    for (int at = 0; at < raw.length(); at++) {
      if (raw.charAt(at) == '%') {
        to.write(Integer.parseInt(raw.substring(at + 1, at + 3), HEX));
        at += 2;
      } else {
        to.write(raw.charAt(at));
      }
    }
    return to.toByteArray();
  }

  /** The length in bytes of the character of UTF-8 that begins at a place; 0 for none. */
  private static int characterAt(byte[] bytes, int at) {
    for (int count = 1; count <= Math.min(4, bytes.length - at); count++) {
      try {
        StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes, at, count));
        return count;
      } catch (CharacterCodingException error) {
        // It may be longer.
      }
    }
    return 0;
  }
}
