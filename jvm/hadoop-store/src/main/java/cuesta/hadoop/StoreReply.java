package cuesta.hadoop;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** An answer of a store; a field of an unexpected kind is an IOException. */
record StoreReply(Map<String, Object> fields, byte[] payload) {
  /** Parses an answer. Errors: StoreRefusal if the store reports an error. */
  static StoreReply of(String text, byte[] payload) throws IOException {
    StoreReply reply = new StoreReply(Json.parse(text), payload);
    if (reply.fields.get("error") instanceof String error) {
      int errno = reply.fields.get("errno") instanceof Long number ? number.intValue() : 0;
      throw new StoreRefusal(error, errno, Boolean.TRUE.equals(reply.fields.get("is_input")));
    }
    return reply;
  }

  long number(String name) throws IOException {
    return taken(name, Long.class);
  }

  String text(String name) throws IOException {
    return taken(name, String.class);
  }

  boolean flag(String name) throws IOException {
    return taken(name, Boolean.class);
  }

  boolean has(String name) {
    return fields.get(name) != null;
  }

  /** The object in a field. */
  @SuppressWarnings("unchecked")
  StoreReply inner(String name) throws IOException {
    return new StoreReply((Map<String, Object>) taken(name, Map.class), payload);
  }

  /** The objects of a field that is a list. */
  @SuppressWarnings("unchecked")
  List<StoreReply> all(String name) throws IOException {
    List<Object> found = taken(name, List.class);
    return found.stream()
        .map(one -> new StoreReply((Map<String, Object>) one, payload))
        .toList();
  }

  /** The texts of a field that is a list. */
  List<String> texts(String name) throws IOException {
    return allOf(name, taken(name, List.class), String.class);
  }

  /** The lists of numbers of a field that is a list. */
  List<List<Long>> numberLists(String name) throws IOException {
    List<List<Long>> found = new ArrayList<>();
    for (List<?> one : allOf(name, taken(name, List.class), List.class)) {
      found.add(allOf(name, one, Long.class));
    }
    return found;
  }

  private <T> T taken(String name, Class<T> kind) throws IOException {
    return checked(name, fields.get(name), kind);
  }

  private static <T> List<T> allOf(String name, List<?> values, Class<T> kind) throws IOException {
    List<T> found = new ArrayList<>(values.size());
    for (Object value : values) {
      found.add(checked(name, value, kind));
    }
    return found;
  }

  private static <T> T checked(String name, Object value, Class<T> kind) throws IOException {
    if (!kind.isInstance(value)) {
      throw new IOException(
          "the store's answer has no " + name + "; jar and store are of different versions");
    }
    return kind.cast(value);
  }
}
