package cuesta.hadoop;

import java.io.IOException;
import java.util.Collections;
import java.util.List;

/** Which stores of a job have each of some blocks in memory; the first one is that of this node. */
record BlockPlaces(List<String> stores, List<List<Long>> holders) {
  /** Nobody has any of so many blocks. */
  static BlockPlaces nowhere(int count) {
    return new BlockPlaces(List.of(), Collections.nCopies(count, List.of()));
  }

  /** What a store answers for so many blocks. Errors: IOException where it is no such answer. */
  static BlockPlaces of(StoreReply reply, int count) throws IOException {
    BlockPlaces found = new BlockPlaces(reply.texts("stores"), reply.numberLists("holders"));
    boolean isSound = found.holders.size() == count;
    for (List<Long> block : found.holders) {
      isSound &= block.stream().allMatch(one -> one >= 0 && one < found.stores.size());
    }
    if (!isSound) {
      throw new IOException("the store's answer is not where " + count + " blocks are");
    }
    return found;
  }
}
