package cuesta.hadoop;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.BlockLocation;

/**
 * Places of the blocks of files: the machines whose stores have a block in memory, and none for
 * other blocks.
 *
 * <p>A machine has the name that its store has in the list of stores, as it is written there:
 * schedulers compare texts. The under level is as far from every machine, and Hadoop takes {@code
 * localhost} for that.
 *
 * @param host the name of this machine, or null for that of its store
 */
record StorePlaces(StoreClient client, String host) {
  /** Host name that Hadoop takes for no particular machine. */
  private static final String ANY_HOST = "localhost";

  /** The name that other machines have for this one; asking for it may take a while. */
  private static final class Own {
    static final String HOST = find();

    private static String find() {
      try {
        return InetAddress.getLocalHost().getCanonicalHostName();
      } catch (UnknownHostException error) {
        return ANY_HOST;
      }
    }
  }

  /** The blocks of a file that have bytes of a range. */
  BlockLocation[] of(String path, long sizeBytes, long start, long count) throws IOException {
    List<BlockLocation> found = new ArrayList<>();
    long blockBytes = client.blockBytes();
    long end = count > sizeBytes - start ? sizeBytes : start + count;
    long last = (end + blockBytes - 1) / blockBytes;
    for (long first = start / blockBytes; first < last; first += Limits.PLACES) {
      int blocks = (int) Math.min(last - first, Limits.PLACES);
      BlockPlaces places = client.places(path, first, blocks);
      for (int block = 0; block < blocks; block++) {
        long from = (first + block) * blockBytes;
        long length = Math.min(blockBytes, sizeBytes - from);
        found.add(location(hosts(places, block), from, length));
      }
    }
    return found.toArray(BlockLocation[]::new);
  }

  /** Returns a block's location: the machines that have it in memory, otherwise any host. */
  private static BlockLocation location(Set<String> holders, long from, long length) {
    String[] cachedHosts = holders.toArray(String[]::new);
    String[] hosts = cachedHosts.length == 0 ? new String[] {ANY_HOST} : cachedHosts;
    String[] names = new String[hosts.length];
    for (int i = 0; i < hosts.length; i++) {
      // Names are HOST:PORT in Hadoop; port 0 stands for none.
      names[i] = hosts[i] + ":0";
    }
    return new BlockLocation(names, hosts, cachedHosts, new String[0], from, length, false);
  }

  /** The machines of the stores that have a block. */
  private Set<String> hosts(BlockPlaces places, int block) {
    Set<String> found = new LinkedHashSet<>();
    for (long store : places.holders().get(block)) {
      String name = places.stores().get((int) store);
      found.add(store == 0 ? ownHost(name) : hostOf(name));
    }
    return found;
  }

  private String ownHost(String name) {
    if (host != null) {
      return host;
    }
    return name.isEmpty() ? Own.HOST : hostOf(name);
  }

  /** The host of {@code HOST:PORT}; an address of version 6 has brackets there alone. */
  static String hostOf(String name) {
    int colon = name.lastIndexOf(':');
    String text = colon < 0 ? name : name.substring(0, colon);
    return text.startsWith("[") ? text.substring(1, text.length() - 1) : text;
  }
}
