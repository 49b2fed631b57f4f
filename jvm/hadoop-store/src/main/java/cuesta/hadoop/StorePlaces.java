package cuesta.hadoop;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.BlockLocation;

/**
 * Where the blocks of files are: what is in memory is on this machine, the rest nowhere near.
 *
 * <p>The under level is as far from every machine, and Hadoop takes {@code localhost} for that.
 */
record StorePlaces(StoreClient client, String host) {
  private static final String NOWHERE = "localhost";

  /** The name that other machines have for this one; asking for it may take a while. */
  private static final class Own {
    static final String HOST = find();

    private static String find() {
      try {
        return InetAddress.getLocalHost().getCanonicalHostName();
      } catch (UnknownHostException error) {
        return NOWHERE;
      }
    }
  }

  /** The blocks of a file that have bytes of a range. */
  BlockLocation[] of(String path, long sizeBytes, long start, long count) throws IOException {
    Set<Long> resident = new HashSet<>(client.blocksInMemory(path));
    List<BlockLocation> found = new ArrayList<>();
    long blockBytes = client.blockBytes();
    long end = count > sizeBytes - start ? sizeBytes : start + count;
    for (long index = start / blockBytes; index * blockBytes < end; index++) {
      String here = host == null ? Own.HOST : host;
      String[] hosts = {resident.contains(index) ? here : NOWHERE};
      String[] names = {hosts[0] + ":0"};
      String[] cached = resident.contains(index) ? hosts : new String[0];
      long first = index * blockBytes;
      long length = Math.min(blockBytes, sizeBytes - first);
      found.add(new BlockLocation(names, hosts, cached, new String[0], first, length, false));
    }
    return found.toArray(BlockLocation[]::new);
  }
}
