import alluxio.AlluxioURI;
import alluxio.client.file.FileInStream;
import alluxio.client.file.FileSystem;
import alluxio.conf.Configuration;
import alluxio.conf.PropertyKey;
import alluxio.grpc.MountPOptions;
import alluxio.grpc.OpenFilePOptions;
import alluxio.grpc.ReadPType;
import alluxio.master.LocalAlluxioCluster;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * Alluxio's cluster of its own tests, a master and a worker in this JVM, and a client that reads.
 *
 * <p>{@code java -cp 'JARS/*' AlluxioCluster.java FOLDER NAME MEMORY_BYTES}: mounts a folder of the
 * local file system. Each line on standard input is answered by one on standard output: {@code
 * read} reads the file into memory and says the seconds, {@code small} says the median seconds of
 * small requests, {@code digest} the SHA-256 of what was read last.
 */
final class AlluxioCluster {
  private static final int ARRAY_BYTES = 64 << 20;
  private static final int PIECE_BYTES = 1 << 20;
  private static final int SMALL_BYTES = 4 << 10;
  private static final int REQUESTS = 10_000;

  /** Settings of the cluster that hold for tests only; the others are those of its users. */
  private static final PropertyKey[] TESTS_ONLY = {
    PropertyKey.USER_STREAMING_READER_CHUNK_SIZE_BYTES,
    PropertyKey.WORKER_BLOCK_HEARTBEAT_INTERVAL_MS,
    PropertyKey.MASTER_LOST_WORKER_DETECTION_INTERVAL,
    PropertyKey.MASTER_LOST_WORKER_FILE_DETECTION_INTERVAL,
    PropertyKey.MASTER_PERSISTENCE_CHECKER_INTERVAL_MS,
    PropertyKey.MASTER_PERSISTENCE_SCHEDULER_INTERVAL_MS,
    PropertyKey.WORKER_NETWORK_NETTY_WORKER_THREADS,
    PropertyKey.USER_BLOCK_READ_RETRY_MAX_DURATION,
    PropertyKey.USER_RPC_RETRY_MAX_DURATION,
  };

  private final FileSystem system;
  private final AlluxioURI file;
  private final long sizeBytes;
  private final byte[][] arrays;
  private final String address;

  private AlluxioCluster(FileSystem system, AlluxioURI file, String address) throws Exception {
    this.system = system;
    this.address = address;
    this.file = file;
    this.sizeBytes = system.getStatus(file).getLength();
    this.arrays = new byte[(int) ((sizeBytes + ARRAY_BYTES - 1) / ARRAY_BYTES)][ARRAY_BYTES];
  }

  public static void main(String[] words) throws Exception {
    LocalAlluxioCluster cluster = new LocalAlluxioCluster(1, false);
    cluster.initConfiguration("bench");
    for (PropertyKey key : TESTS_ONLY) {
      Configuration.unset(key);
    }
    Configuration.set(PropertyKey.USER_BLOCK_SIZE_BYTES_DEFAULT, "64MB");
    Configuration.set(PropertyKey.WORKER_RAMDISK_SIZE, words[2] + "B");
    cluster.start();
    FileSystem system = cluster.getClient();
    AlluxioURI folder = new AlluxioURI("/under");
    MountPOptions options = MountPOptions.newBuilder().setReadOnly(true).build();
    system.mount(folder, new AlluxioURI(words[0]), options);
    AlluxioURI file = folder.join(words[1]);
    AlluxioCluster reader = new AlluxioCluster(system, file, cluster.getMasterURI());
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      System.out.println("> " + reader.answer(line));
    }
    cluster.stop();
    System.exit(0);
  }

  private String answer(String line) throws Exception {
    return switch (line) {
      case "read" -> Double.toString(read());
      case "address" -> address;
      case "small" -> Double.toString(small());
      case "digest" -> digest();
      case "cached" -> Integer.toString(system.getStatus(file).getInMemoryPercentage());
      default -> throw new IllegalArgumentException(line);
    };
  }

  private FileInStream open() throws Exception {
    return system.openFile(
        file, OpenFilePOptions.newBuilder().setReadType(ReadPType.CACHE).build());
  }

  private double read() throws Exception {
    long started = System.nanoTime();
    try (FileInStream stream = open()) {
      for (long offset = 0; offset < sizeBytes; ) {
        int within = (int) (offset % ARRAY_BYTES);
        int wanted = Math.min(PIECE_BYTES, ARRAY_BYTES - within);
        offset += stream.read(arrays[(int) (offset / ARRAY_BYTES)], within, wanted);
      }
    }
    return (System.nanoTime() - started) / 1e9;
  }

  private double small() throws Exception {
    java.util.Random chance = new java.util.Random(1);
    byte[] piece = new byte[SMALL_BYTES];
    double[] seconds = new double[REQUESTS];
    try (FileInStream stream = open()) {
      for (int index = 0; index < REQUESTS; index++) {
        long offset = chance.nextLong(sizeBytes / SMALL_BYTES) * SMALL_BYTES;
        long started = System.nanoTime();
        stream.positionedRead(offset, piece, 0, SMALL_BYTES);
        seconds[index] = (System.nanoTime() - started) / 1e9;
      }
    }
    Arrays.sort(seconds);
    return seconds[REQUESTS / 2];
  }

  private String digest() throws Exception {
    MessageDigest hashed = MessageDigest.getInstance("SHA-256");
    long left = sizeBytes;
    for (byte[] array : arrays) {
      hashed.update(array, 0, (int) Math.min(left, array.length));
      left -= array.length;
    }
    return HexFormat.of().formatHex(hashed.digest());
  }
}
