package cuesta.hadoop;

import java.io.IOException;

/** Version of the messages between jar and store, which must be equal. */
final class WireVersion {
  /** Version of spec/formats/store-wire.md. */
  static final long WIRE = 2;

  private WireVersion() {}

  /** A store that runs, and that this jar cannot talk to. */
  static final class Mismatch extends IOException {
    private static final long serialVersionUID = 1;

    Mismatch(String line) {
      super(line);
    }
  }

  /** Errors: Mismatch, one line, where a store is of another version. */
  static void check(StoreReply status) throws IOException {
    long found = status.has("wire") ? status.number("wire") : 0;
    if (found != WIRE) {
      throw new Mismatch(
          "the jar of cuesta speaks version " + WIRE + " of the store's protocol, the store that "
              + "runs speaks " + found + "; take the jar of the store's own cuesta "
              + "(cuesta store hadoop-conf), or start the store again");
    }
  }
}
