package cuesta.hadoop;

import java.io.IOException;

/** A store that has ended or hangs. */
final class StoreLost extends IOException {
  private static final long serialVersionUID = 1;

  /** Whether it may live, and does not answer: to look for it again takes a while. */
  final boolean hangs;

  StoreLost(String folder, boolean hangs) {
    super("the store in " + folder + " has ended or does not answer; start it again");
    this.hangs = hangs;
  }
}
