package cuesta.hadoop;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileRange;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.ReadOption;
import org.apache.hadoop.io.ByteBufferPool;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Regression tests of former defects. */
final class StoreDefectTest {
  private static final URI ROOT = URI.create("cuesta:///");
  private static final Path FOLDER = new Path("/defects");
  private static final Path FILE = new Path(FOLDER, "file");
  private static final int BLOCK_BYTES = 64 << 10;
  private static final int BYTES = 3 * BLOCK_BYTES + 17;

  private final byte[] content = new byte[BYTES];
  private FileSystem system;

  @BeforeEach
  void connect() throws IOException {
    new Random(BYTES).nextBytes(content);
    system = FileSystem.newInstance(ROOT, new Configuration());
  }

  @AfterEach
  void clean() throws IOException {
    system.delete(FOLDER, true);
    system.close();
  }

  /**
   * A job that fails removes its folder while its tasks still write: a file without a name kept the
   * folder, and with it all that was in it.
   */
  @Test
  void aFolderIsRemovedWithTheFilesThatAreBeingWritten() throws Exception {
    Path job = new Path(FOLDER, "_temporary/0");
    List<FSDataOutputStream> written = new ArrayList<>();
    for (int task = 0; task < 4; task++) {
      Path attempt = new Path(job, "_temporary/attempt_" + task);
      write(new Path(attempt, "part-0"), "through", content);
      FSDataOutputStream open = system.create(new Path(attempt, "part-1"));
      open.write(content);
      written.add(open);
    }
    ExecutorService tasks = Executors.newSingleThreadExecutor();
    try {
      Future<?> ended =
          tasks.submit(
              () -> {
                for (FSDataOutputStream open : written) {
                  Thread.sleep(100);
                  if (written.indexOf(open) % 2 == 0) {
                    open.close();
                  } else {
                    open.abort();
                  }
                }
                return null;
              });
      assertTrue(system.delete(new Path(FOLDER, "_temporary"), true));
      ended.get();
    } finally {
      tasks.shutdown();
    }
    assertEquals(0, system.listStatus(FOLDER).length);
    try (Stream<java.nio.file.Path> left = Files.list(under().resolve("defects"))) {
      assertEquals(List.of(), left.toList());
    }
  }

  /** All of a folder was removed that a link in a removed folder led to. */
  @Test
  void aLinkIsRemovedAndNotWhatItLeadsTo() throws IOException {
    write(new Path(FOLDER, "far/a"), "through", content);
    write(new Path(FOLDER, "near/b"), "through", content);
    java.nio.file.Path under = under().resolve("defects");
    Files.createSymbolicLink(under.resolve("near/link"), java.nio.file.Path.of("../far"));
    Files.createSymbolicLink(under.resolve("direct"), java.nio.file.Path.of("far"));
    assertTrue(system.getFileStatus(new Path(FOLDER, "near/link")).isDirectory());
    assertTrue(system.delete(new Path(FOLDER, "near"), true));
    assertTrue(system.delete(new Path(FOLDER, "direct"), true));
    assertFalse(Files.isSymbolicLink(under.resolve("direct")));
    assertEquals(1, system.listStatus(FOLDER).length);
    assertArrayEquals(content, read(new Path(FOLDER, "far/a")));
  }

  private static java.nio.file.Path under() throws IOException {
    return StoreClient.of(StoreSettings.of(new Configuration()).folder()).under();
  }

  /** Bytes that another writer closed during an append were replaced by older bytes. */
  @Test
  void appendingReplacesNoFileButTheOneThatWasCopied() throws IOException {
    for (String mode : List.of("through", "back", "memory")) {
      write(FILE, mode, content);
      FSDataOutputStream out = system.append(FILE);
      out.write(1);
      write(FILE, mode, new byte[] {5});
      IOException error = assertThrows(IOException.class, out::close);
      assertTrue(error.getMessage().contains("was changed by others since"), error.getMessage());
      assertArrayEquals(new byte[] {5}, read(FILE));
      FSDataOutputStream gone = system.append(FILE);
      system.delete(FILE, false);
      assertThrows(FileNotFoundException.class, gone::close);
      assertFalse(system.exists(FILE));
    }
  }

  /** The write and the close threw one object, which Java refuses to add to itself. */
  @Test
  void aFailedWriteIsToldOfInATryWithResources() {
    IOException error =
        assertThrows(
            IOException.class,
            () -> {
              try (FSDataOutputStream out = begin(FILE, "memory")) {
                while (true) {
                  out.write(content);
                }
              }
            });
    assertTrue(error.getMessage().contains("store: "), error.getMessage());
    assertNotSame(error, error.getSuppressed()[0]);
    assertSame(error, error.getSuppressed()[0].getCause());
  }

  /** A flush while another thread wrote lost bytes. */
  @Test
  void oneThreadMayFlushWhileAnotherWrites() throws Exception {
    ExecutorService writer = Executors.newSingleThreadExecutor();
    try (FSDataOutputStream out = begin(FILE, "through")) {
      Future<?> writing =
          writer.submit(
              () -> {
                for (int i = 0; i < BYTES; i++) {
                  out.write(content[i]);
                }
                return null;
              });
      while (!writing.isDone()) {
        out.hflush();
      }
      writing.get();
    } finally {
      writer.shutdown();
    }
    assertArrayEquals(content, read(FILE));
  }

  /** Nobody who waited for a range was told that there was no memory for it. */
  @Test
  void aRangeThatFindsNoMemoryEnds() throws Exception {
    write(FILE, "bypass", content);
    try (FSDataInputStream in = system.open(FILE)) {
      List<FileRange> ranges = List.of(FileRange.createFileRange(0, 10));
      in.readVectored(
          ranges,
          size -> {
            throw new OutOfMemoryError("on purpose");
          });
      ExecutionException error =
          assertThrows(ExecutionException.class, () -> ranges.get(0).getData().get());
      assertInstanceOf(OutOfMemoryError.class, error.getCause());
    }
  }

  /** A buffer that was taken for what was not in memory never came back to its pool. */
  @Test
  void aBufferIsGivenBackToItsPool() throws IOException {
    write(FILE, "bypass", content);
    fillMemory();
    Pool pool = new Pool();
    try (FSDataInputStream in = system.open(FILE)) {
      ByteBuffer found = in.read(pool, BYTES, EnumSet.noneOf(ReadOption.class));
      assertSame(found, pool.given.get(0));
      byte[] bytes = new byte[found.remaining()];
      found.get(bytes);
      assertArrayEquals(Arrays.copyOf(content, bytes.length), bytes);
      in.releaseBuffer(found);
      assertSame(found, pool.back.get(0));
    }
  }

  private void fillMemory() {
    for (int bytes : new int[] {64 * BLOCK_BYTES, BLOCK_BYTES}) {
      boolean isFull = false;
      for (int i = 0; !isFull; i++) {
        try {
          write(new Path(FOLDER, bytes + "-" + i), "memory", new byte[bytes]);
        } catch (IOException full) {
          isFull = true;
        }
      }
    }
  }

  private static final class Pool implements ByteBufferPool {
    private final List<ByteBuffer> given = new ArrayList<>();
    private final List<ByteBuffer> back = new ArrayList<>();

    @Override
    public ByteBuffer getBuffer(boolean isDirect, int bytes) {
      given.add(isDirect ? ByteBuffer.allocateDirect(bytes) : ByteBuffer.allocate(bytes));
      return given.get(given.size() - 1);
    }

    @Override
    public void putBuffer(ByteBuffer buffer) {
      back.add(buffer);
    }
  }

  private byte[] read(Path path) throws IOException {
    byte[] found = new byte[(int) system.getFileStatus(path).getLen()];
    try (FSDataInputStream in = system.open(path)) {
      in.readFully(0, found);
    }
    return found;
  }

  private void write(Path path, String mode, byte[] bytes) throws IOException {
    try (FSDataOutputStream out = begin(path, mode)) {
      out.write(bytes);
    }
  }

  private FSDataOutputStream begin(Path path, String mode) throws IOException {
    FSDataOutputStreamBuilder<?, ?> builder = system.createFile(path).recursive();
    return builder.opt(StoreSettings.WRITE, mode).build();
  }
}
