package cuesta.hadoop;

import java.io.IOException;
import java.util.Collections;
import java.util.List;

/** Stores of a job that have each of some blocks in memory; the first is that of this node. */
record BlockPlaces(List<String> stores, List<List<Long>> holders) {
  /** No store has any of {@code count} blocks. */
  static BlockPlaces nowhere(int count) {
    return new BlockPlaces(List.of(), Collections.nCopies(count, List.of()));
  }

  /** Parses the reply of a store for so many blocks. Errors: IOException if it is no such reply. */
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
