package cuesta.mapreduce;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.WritableComparable;
import org.apache.hadoop.io.WritableComparator;
import org.apache.hadoop.io.WritableUtils;

/** The key of a pair of text, behind the number of the part that it is for. */
public final class PairKey implements WritableComparable<PairKey> {
  static {
    WritableComparator.define(PairKey.class, new ByBytes());
  }

  private final Text word = new Text();
  private int part;

  /** For Hadoop, which fills it by {@link #readFields}. */
  public PairKey() {}

  void set(int newPart, byte[] bytes, int start, int length) {
    part = newPart;
    word.set(bytes, start, length);
  }

  int part() {
    return part;
  }

  Text word() {
    return word;
  }

  @Override
  public void write(DataOutput out) throws IOException {
    WritableUtils.writeVInt(out, part);
    word.write(out);
  }

  @Override
  public void readFields(DataInput in) throws IOException {
    part = WritableUtils.readVInt(in);
    word.readFields(in);
  }

  @Override
  public int compareTo(PairKey other) {
    int byPart = Integer.compare(part, other.part);
    return byPart != 0 ? byPart : word.compareTo(other.word);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof PairKey && compareTo((PairKey) other) == 0;
  }

  @Override
  public int hashCode() {
    return 31 * part + word.hashCode();
  }

  /** The order of keys as they are written: numbers of parts, then bytes of words. */
  public static final class ByBytes extends WritableComparator {
    /** For Hadoop. */
    public ByBytes() {
      super(PairKey.class);
    }

    @Override
    public int compare(byte[] one, int from, int length, byte[] other, int start, int count) {
      try {
        int byPart = Integer.compare(readVInt(one, from), readVInt(other, start));
        if (byPart != 0) {
          return byPart;
        }
        int mine = afterNumber(one, afterNumber(one, from));
        int others = afterNumber(other, afterNumber(other, start));
        return compareBytes(
            one, mine, from + length - mine, other, others, start + count - others);
      } catch (IOException error) {
        throw new IllegalArgumentException(error);
      }
    }

    private static int afterNumber(byte[] bytes, int at) {
      return at + WritableUtils.decodeVIntSize(bytes[at]);
    }
  }
}
