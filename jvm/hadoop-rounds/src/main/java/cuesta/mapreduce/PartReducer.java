package cuesta.mapreduce;

import java.io.IOException;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.mapreduce.Reducer;

/** Gives a child all blocks of a part, in pieces and in the order of the tasks that sent them. */
public final class PartReducer
    extends Reducer<BlockKey, BytesWritable, BlockKey, BytesWritable> {
  @Override
  public void run(Context context) throws IOException, InterruptedException {
    // One to which nothing was sent is done too.
    int part = context.getTaskAttemptID().getTaskID().getId();
    try (Child child = new Child(context, "part", Integer.toString(part))) {
      while (context.nextKey()) {
        for (BytesWritable piece : context.getValues()) {
          child.give(context.getCurrentKey().number(), piece);
        }
      }
      child.end();
      child.passOn(context::write);
      child.countCpuTime(context);
    }
  }
}
