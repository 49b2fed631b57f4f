package cuesta.mapreduce;

import java.io.DataOutputStream;
import java.io.IOException;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.RecordWriter;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;

/** Results as typed bytes: the number of the task or part, and the bytes, in pieces. */
public final class FoundFiles extends FileOutputFormat<BlockKey, BytesWritable> {
  /** The folder is there, and empty: a node that has looked before may not see it appear. */
  @Override
  public void checkOutputSpecs(JobContext job) {}

  @Override
  public RecordWriter<BlockKey, BytesWritable> getRecordWriter(TaskAttemptContext context)
      throws IOException {
    Path file = getDefaultWorkFile(context, "");
    DataOutputStream out = file.getFileSystem(context.getConfiguration()).create(file, false);
    return new RecordWriter<BlockKey, BytesWritable>() {
      @Override
      public void write(BlockKey key, BytesWritable piece) throws IOException {
        TypedBytes.write(out, key.part());
        TypedBytes.write(out, piece.getBytes(), piece.getLength());
      }

      @Override
      public void close(TaskAttemptContext ended) throws IOException {
        out.close();
      }
    };
  }
}
