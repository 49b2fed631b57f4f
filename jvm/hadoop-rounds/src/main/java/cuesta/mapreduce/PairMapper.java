package cuesta.mapreduce;

import java.io.IOException;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Mapper;

/** Has a child do tasks; each line that it tells for a part is a pair of a key and a value. */
public final class PairMapper extends Mapper<IntWritable, NullWritable, PairKey, Text> {
  private final PairKey key = new PairKey();
  private final Text value = new Text();

  @Override
  public void run(Context context) throws IOException, InterruptedException {
    try (Child child = new Child(context, "tasks")) {
      while (context.nextKeyValue()) {
        child.ask(context.getCurrentKey().get());
        child.passOn((block, piece) -> write(context, block.part(), piece));
      }
      child.end();
      child.passOn((block, piece) -> write(context, block.part(), piece));
      child.countCpuTime(context);
    }
  }

  /** A piece is whole lines. */
  private void write(Context context, int part, BytesWritable piece)
      throws IOException, InterruptedException {
    byte[] bytes = piece.getBytes();
    int tab = -1;
    int start = 0;
    for (int at = 0; at < piece.getLength(); at++) {
      if (bytes[at] == '\t' && tab < 0) {
        tab = at;
      } else if (bytes[at] == '\n') {
        if (tab < 0) {
          throw new IOException("a line without a tab is no pair");
        }
        key.set(part, bytes, start, tab - start);
        value.set(bytes, tab + 1, at - tab - 1);
        context.write(key, value);
        tab = -1;
        start = at + 1;
      }
    }
    if (start != piece.getLength()) {
      throw new IOException("a piece ends within a line");
    }
  }
}
