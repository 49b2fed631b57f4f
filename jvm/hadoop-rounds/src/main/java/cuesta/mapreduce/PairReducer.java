package cuesta.mapreduce;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Reducer;

/** Gives a child all pairs of a part, a line for each key with all of its values. */
public final class PairReducer extends Reducer<PairKey, Text, BlockKey, BytesWritable> {
  private static final int PIECE_BYTES = 1 << 20;

  private final ByteArrayOutputStream lines = new ByteArrayOutputStream();
  private int pieces;

  @Override
  public void run(Context context) throws IOException, InterruptedException {
    // One to which nothing was sent is done too.
    int part = context.getTaskAttemptID().getTaskID().getId();
    try (Child child = new Child(context, "part", Integer.toString(part))) {
      while (context.nextKey()) {
        add(context.getCurrentKey().word());
        for (Text value : context.getValues()) {
          // There may be more values than memory.
          if (lines.size() > PIECE_BYTES) {
            give(child);
            add(context.getCurrentKey().word());
          }
          lines.write('\t');
          add(value);
        }
        lines.write('\n');
      }
      give(child);
      child.end();
      child.passOn(context::write);
      child.countCpuTime(context);
    }
  }

  private void add(Text word) {
    lines.write(word.getBytes(), 0, word.getLength());
  }

  /** The last line may be open; its key has another one then. */
  private void give(Child child) throws IOException {
    lines.write('\n');
    child.give(pieces, new BytesWritable(lines.toByteArray()));
    pieces++;
    lines.reset();
  }
}
