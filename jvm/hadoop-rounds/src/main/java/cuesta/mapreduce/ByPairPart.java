package cuesta.mapreduce;

import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Partitioner;

/** A part is the reduce task of its number. */
public final class ByPairPart extends Partitioner<PairKey, Text> {
  @Override
  public int getPartition(PairKey key, Text value, int count) {
    return key.part();
  }
}
