package cuesta.mapreduce;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;

/** Hadoop's typed bytes, as much of them as a child and its task say to each other. */
final class TypedBytes {
  private static final int BYTES = 0;
  private static final int INT = 3;

  private TypedBytes() {}

  static void write(DataOutputStream out, int number) throws IOException {
    out.writeByte(INT);
    out.writeInt(number);
  }

  static void write(DataOutputStream out, byte[] bytes, int count) throws IOException {
    out.writeByte(BYTES);
    out.writeInt(count);
    out.write(bytes, 0, count);
  }

  /** Errors: IOException for what is not a number, also for the end. */
  static int readInt(DataInputStream in) throws IOException {
    expect(in, INT);
    return in.readInt();
  }

  /** Errors: IOException for what is not bytes, also for the end. */
  static byte[] readBytes(DataInputStream in) throws IOException {
    expect(in, BYTES);
    byte[] found = new byte[in.readInt()];
    in.readFully(found);
    return found;
  }

  private static void expect(DataInputStream in, int kind) throws IOException {
    int found = in.readUnsignedByte();
    if (found != kind) {
      throw new IOException("typed bytes of kind " + found + ", not " + kind);
    }
  }
}
