package cuesta.hadoop;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;

/** Settings of the store in a configuration; a missing setting is null, but for the folder. */
record StoreSettings(Path folder, String write, String host) {
  /** The folder of the store; {@code $CUESTA_STORE}, else the user's own, where it is not set. */
  static final String STORE = "fs.cuesta.store";

  /** The mode of files that are written; the store's own where it is not set. */
  static final String WRITE = "fs.cuesta.write";

  /** The name of this machine in block locations; that of its store where it is not set. */
  static final String HOST = "fs.cuesta.host";

  private static final String PREFIX = "fs.cuesta.";
  private static final String VARIABLE = "CUESTA_STORE";
  private static final Set<String> MODES = Set.of("through", "back", "bypass", "memory");
  private static final Set<String> KNOWN = new TreeSet<>(Set.of(HOST, STORE, WRITE));

  /** Hadoop's own keys for a scheme. */
  private static final Set<String> HADOOP = Set.of("impl", "impl.disable.cache");

  /** Errors: IOException, one line, for a key or a value that is not known. */
  static StoreSettings of(Configuration conf) throws IOException {
    for (Map.Entry<String, String> one : conf.getPropsWithPrefix(PREFIX).entrySet()) {
      if (!KNOWN.contains(PREFIX + one.getKey()) && !HADOOP.contains(one.getKey())) {
        throw new IOException(
            PREFIX + one.getKey() + " is not known; known are " + String.join(", ", KNOWN));
      }
    }
    String write = conf.getTrimmed(WRITE, "");
    checkMode(write);
    String named = conf.getTrimmed(STORE, System.getenv().getOrDefault(VARIABLE, ""));
    Path folder = named.isEmpty() ? ownFolder() : Path.of(named);
    String host = conf.getTrimmed(HOST, "");
    return new StoreSettings(
        folder.toAbsolutePath(),
        write.isEmpty() ? null : write,
        host.isEmpty() ? null : host);
  }

  /** Checks the mode of writing, which may be empty. Errors: IOException for an unknown mode. */
  static void checkMode(String write) throws IOException {
    if (!write.isEmpty() && !MODES.contains(write)) {
      throw new IOException(
          WRITE + " is " + write + "; choose from " + String.join(", ", new TreeSet<>(MODES)));
    }
  }

  private static Path ownFolder() throws IOException {
    Object user = Files.getAttribute(Path.of("/proc/self"), "unix:uid");
    return Path.of("/dev/shm/cuesta-" + user);
  }
}
