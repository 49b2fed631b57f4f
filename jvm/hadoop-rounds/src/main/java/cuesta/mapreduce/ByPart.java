package cuesta.mapreduce;

import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.mapreduce.Partitioner;

/** A part is the reduce task of its number. */
public final class ByPart extends Partitioner<BlockKey, BytesWritable> {
  @Override
  public int getPartition(BlockKey key, BytesWritable block, int count) {
    return key.part();
  }
}
