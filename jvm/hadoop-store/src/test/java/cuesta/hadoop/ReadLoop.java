package cuesta.hadoop;

import java.io.IOException;
import java.net.URI;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Reads files for as long as standard input is open: {@code FILE...}, whose byte at {@code i} is
 * {@code i * i / 7}. A line for each 100 reads, with the most milliseconds that one of them took.
 */
public final class ReadLoop {
  private static final int READS = 100;

  private ReadLoop() {}

  public static void main(String[] names) throws Exception {
    FileSystem system = FileSystem.get(URI.create("cuesta:///"), new Configuration());
    Random random = new Random(1);
    // It stays open while stores come and go.
    try (FSDataInputStream kept = system.open(new Path(names[0]))) {
      while (System.in.available() == 0) {
        long mostNs = 0;
        for (int read = 0; read < READS; read++) {
          long started = System.nanoTime();
          check(kept, random);
          Path path = new Path(names[random.nextInt(names.length)]);
          try (FSDataInputStream in = system.open(path)) {
            check(in, random);
          }
          mostNs = Math.max(mostNs, System.nanoTime() - started);
        }
        System.out.println(TimeUnit.NANOSECONDS.toMillis(mostNs));
      }
    }
  }

  private static void check(FSDataInputStream in, Random random) throws IOException {
    int start = random.nextInt(in.available() + (int) in.getPos() - READS);
    byte[] found = new byte[1 + random.nextInt(READS)];
    in.readFully(start, found);
    for (int i = 0; i < found.length; i++) {
      long place = start + i;
      if (found[i] != (byte) (place * place / 7)) {
        throw new IOException("byte " + place + " is " + found[i]);
      }
    }
  }
}
