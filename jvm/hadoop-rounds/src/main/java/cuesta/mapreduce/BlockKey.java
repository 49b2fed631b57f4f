package cuesta.mapreduce;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import org.apache.hadoop.io.WritableComparable;
import org.apache.hadoop.io.WritableComparator;

/**
 * The part that a block is for, the number of the task that sends it, and which piece of it this
 * is; none is negative.
 */
public final class BlockKey implements WritableComparable<BlockKey> {
  private static final int BYTES = 3 * Integer.BYTES;

  static {
    WritableComparator.define(BlockKey.class, new ByBytes());
  }

  private int part;
  private int number;
  private int piece;

  /** For Hadoop, which fills it by {@link #readFields}. */
  public BlockKey() {}

  BlockKey(int part, int number, int piece) {
    this.part = part;
    this.number = number;
    this.piece = piece;
  }

  int part() {
    return part;
  }

  int number() {
    return number;
  }

  @Override
  public void write(DataOutput out) throws IOException {
    out.writeInt(part);
    out.writeInt(number);
    out.writeInt(piece);
  }

  @Override
  public void readFields(DataInput in) throws IOException {
    part = in.readInt();
    number = in.readInt();
    piece = in.readInt();
  }

  @Override
  public int compareTo(BlockKey other) {
    int byPart = Integer.compare(part, other.part);
    int byNumber = byPart != 0 ? byPart : Integer.compare(number, other.number);
    return byNumber != 0 ? byNumber : Integer.compare(piece, other.piece);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof BlockKey && compareTo((BlockKey) other) == 0;
  }

  @Override
  public int hashCode() {
    return 31 * (31 * part + number) + piece;
  }

  /** The order of keys as they are written: that of their bytes, since no number is negative. */
  public static final class ByBytes extends WritableComparator {
    /** For Hadoop. */
    public ByBytes() {
      super(BlockKey.class);
    }

    @Override
    public int compare(byte[] one, int from, int length, byte[] other, int start, int count) {
      return compareBytes(one, from, BYTES, other, start, BYTES);
    }
  }
}
