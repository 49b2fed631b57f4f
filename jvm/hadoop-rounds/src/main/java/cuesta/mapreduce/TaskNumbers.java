package cuesta.mapreduce;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.InputFormat;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.TaskAttemptContext;

/** The numbers of the tasks of a round, some of them a split; tasks read their own input. */
public final class TaskNumbers extends InputFormat<IntWritable, NullWritable> {
  @Override
  public List<InputSplit> getSplits(JobContext context) {
    Configuration conf = context.getConfiguration();
    int count = conf.getInt(Settings.TASKS, 0);
    int slice = conf.getInt(Settings.SLICE, 1);
    List<InputSplit> splits = new ArrayList<>();
    for (int first = 0; first < count; first += slice) {
      splits.add(new Numbers(first, Math.min(first + slice, count)));
    }
    return splits;
  }

  @Override
  public RecordReader<IntWritable, NullWritable> createRecordReader(
      InputSplit split, TaskAttemptContext context) {
    return new Reader();
  }

  /** Numbers that follow each other. */
  public static final class Numbers extends InputSplit implements Writable {
    private int first;
    private int end;

    /** For Hadoop, which fills it by {@link #readFields}. */
    public Numbers() {}

    Numbers(int first, int end) {
      this.first = first;
      this.end = end;
    }

    @Override
    public long getLength() {
      return end - first;
    }

    @Override
    public String[] getLocations() {
      return new String[0];
    }

    @Override
    public void write(DataOutput out) throws IOException {
      out.writeInt(first);
      out.writeInt(end);
    }

    @Override
    public void readFields(DataInput in) throws IOException {
      first = in.readInt();
      end = in.readInt();
    }
  }

  private static final class Reader extends RecordReader<IntWritable, NullWritable> {
    private final IntWritable number = new IntWritable();
    private Numbers numbers;
    private int next;

    @Override
    public void initialize(InputSplit split, TaskAttemptContext context) {
      numbers = (Numbers) split;
      next = numbers.first;
    }

    @Override
    public boolean nextKeyValue() {
      number.set(next);
      next++;
      return number.get() < numbers.end;
    }

    @Override
    public IntWritable getCurrentKey() {
      return number;
    }

    @Override
    public NullWritable getCurrentValue() {
      return NullWritable.get();
    }

    @Override
    public float getProgress() {
      return (float) (number.get() - numbers.first) / (numbers.end - numbers.first);
    }

    @Override
    public void close() {}
  }
}
