package cuesta.mapreduce;

import java.io.IOException;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.mapreduce.Mapper;

/** Has a child do tasks, and writes its blocks for parts, or without parts its results. */
public final class TaskMapper
    extends Mapper<IntWritable, NullWritable, BlockKey, BytesWritable> {
  @Override
  public void run(Context context) throws IOException, InterruptedException {
    try (Child child = new Child(context, "tasks")) {
      while (context.nextKeyValue()) {
        child.ask(context.getCurrentKey().get());
        child.passOn(context::write);
      }
      child.end();
      child.passOn(context::write);
      child.countCpuTime(context);
    }
  }
}
