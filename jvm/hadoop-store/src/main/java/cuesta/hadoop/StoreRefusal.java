package cuesta.hadoop;

import java.io.IOException;

/** Reply of a store that refuses a request. */
final class StoreRefusal extends IOException {
  static final int NO_ENTRY = 2;
  static final int DENIED = 13;
  static final int EXISTS = 17;
  static final int OTHER_DEVICE = 18;
  static final int NO_FOLDER = 20;
  static final int IS_FOLDER = 21;
  static final int NO_ROOM = 28;
  static final int NOT_EMPTY = 39;

  private static final long serialVersionUID = 1;

  /** The number of the system's error; 0 where there is none. */
  final int errno;

  /** Whether the question was wrong, and not the system. */
  final boolean isInput;

  StoreRefusal(String message, int errno, boolean isInput) {
    super(message);
    this.errno = errno;
    this.isInput = isInput;
  }
}
