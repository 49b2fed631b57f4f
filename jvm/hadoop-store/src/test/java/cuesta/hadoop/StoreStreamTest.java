package cuesta.hadoop;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathIsNotEmptyDirectoryException;
import org.apache.hadoop.fs.ReadOption;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Properties of the store's files beyond the contract of Hadoop. */
final class StoreStreamTest {
  private static final URI ROOT = URI.create("cuesta:///");
  private static final EnumSet<ReadOption> NO_OPTIONS = EnumSet.noneOf(ReadOption.class);
  private static final Path FILE = new Path("/streams/file");

  /** More blocks than a process leases at once. */
  private static final int BYTES = (Limits.LEASES_MAX + 40) * (64 << 10) + 17;

  private final byte[] content = new byte[BYTES];
  private FileSystem system;

  @BeforeEach
  void connect() throws IOException {
    new Random(BYTES).nextBytes(content);
    Configuration conf = new Configuration();
    conf.set(StoreSettings.HOST, "here");
    system = FileSystem.newInstance(ROOT, conf);
  }

  @AfterEach
  void clean() throws IOException {
    system.delete(FILE.getParent(), true);
    system.close();
  }

  @Test
  void aViewIsWhatLiesInMemoryAndOutlivesItsStream() throws IOException {
    write(FILE, "through", content);
    List<ByteBuffer> views = new ArrayList<>();
    FSDataInputStream in = system.open(FILE);
    for (ByteBuffer view; (view = in.read(null, BYTES, NO_OPTIONS)) != null; ) {
      assertTrue(view.isDirect() && view.isReadOnly());
      views.add(view);
    }
    in.releaseBuffer(views.remove(0));
    in.close();
    assertEquals(BYTES / (64 << 10), views.size());
    int place = 64 << 10;
    for (ByteBuffer view : views) {
      byte[] found = new byte[view.remaining()];
      view.get(found);
      assertArrayEquals(Arrays.copyOfRange(content, place, place + found.length), found);
      place += found.length;
    }
    assertEquals(BYTES, place);
  }

  @Test
  void manyThreadsReadMoreBlocksThanAreLeasedAtOnce() throws Exception {
    write(FILE, "through", content);
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try (FSDataInputStream in = system.open(FILE)) {
      List<Future<?>> running = new ArrayList<>();
      for (int seed = 0; seed < 4; seed++) {
        Random random = new Random(seed);
        running.add(threads.submit(() -> readPieces(in, random)));
      }
      for (Future<?> one : running) {
        one.get();
      }
    } finally {
      threads.shutdown();
    }
  }

  private Void readPieces(FSDataInputStream in, Random random) throws IOException {
    for (int round = 0; round < 500; round++) {
      int start = random.nextInt(BYTES - 100_000);
      byte[] piece = new byte[1 + random.nextInt(100_000)];
      in.readFully(start, piece);
      assertArrayEquals(Arrays.copyOfRange(content, start, start + piece.length), piece);
    }
    return null;
  }

  @Test
  void anInterruptedThreadReadsAndWritesNamesAndIsInterruptedStill() throws IOException {
    for (String write : List.of("through", "bypass")) {
      write(FILE, write, content);
      byte[] found = new byte[BYTES];
      boolean wasInterrupted;
      Thread.currentThread().interrupt();
      try (FSDataInputStream in = system.open(FILE)) {
        in.readFully(0, found);
        assertEquals(BYTES, system.getFileStatus(FILE).getLen());
        assertTrue(system.rename(FILE, new Path("/streams", write)));
      } finally {
        wasInterrupted = Thread.interrupted();
      }
      assertTrue(wasInterrupted);
      assertArrayEquals(content, found);
    }
  }

  @Test
  void aBlockIsHereOnceItIsInMemory() throws IOException {
    write(FILE, "bypass", Arrays.copyOf(content, 100_000));
    assertEquals(List.of("localhost", "localhost"), hosts());
    try (FSDataInputStream in = system.open(FILE)) {
      in.readFully(70_000, new byte[10]);
    }
    assertEquals(List.of("localhost", "here"), hosts());
    write(FILE, "memory", Arrays.copyOf(content, 100_000));
    assertEquals(List.of("here", "here"), hosts());
  }

  @Test
  void aMachineHasTheNameThatItsStoreIsListedBy() {
    assertEquals("node1.site", StorePlaces.hostOf("node1.site:7070"));
    assertEquals("10.0.0.7", StorePlaces.hostOf("10.0.0.7:7070"));
    assertEquals("fd00::7", StorePlaces.hostOf("[fd00::7]:7070"));
  }

  @Test
  void whatIsNoAnswerToWhereBlocksAreIsRefused() throws IOException {
    String sound = "{\"stores\": [\"a:1\", \"b:1\"], \"holders\": [[1, 0], []]}";
    BlockPlaces found = BlockPlaces.of(StoreReply.of(sound, new byte[0]), 2);
    assertEquals(List.of(List.of(1L, 0L), List.of()), found.holders());
    for (String[] change :
        new String[][] {
          {"[1, 0]", "[2]"}, {"[1, 0]", "[-1]"}, {"[1, 0]", "[\"b\"]"}, {"[1, 0]", "1"},
          {", []", ""}, {"\"b:1\"", "7"}, {"stores", "names"},
        }) {
      StoreReply reply = StoreReply.of(sound.replace(change[0], change[1]), new byte[0]);
      assertThrows(IOException.class, () -> BlockPlaces.of(reply, 2), change[1]);
    }
  }

  private List<String> hosts() throws IOException {
    FileStatus status = system.getFileStatus(FILE);
    List<String> found = new ArrayList<>();
    for (BlockLocation block : system.getFileBlockLocations(status, 0, status.getLen())) {
      assertEquals(block.getHosts()[0].equals("here") ? 1 : 0, block.getCachedHosts().length);
      found.add(block.getHosts()[0]);
    }
    return found;
  }

  @Test
  void attributesSayHowMuchIsInMemoryAndHowAFileLies() throws IOException {
    write(FILE, "bypass", Arrays.copyOf(content, 100_000));
    assertEquals("0", new String(system.getXAttr(FILE, "user.cuesta.memory_bytes")));
    try (FSDataInputStream in = system.open(FILE)) {
      in.readFully(0, new byte[1]);
    }
    assertNotEquals("0", new String(system.getXAttr(FILE, "user.cuesta.memory_bytes")));
    assertEquals("plain", new String(system.getXAttr(FILE, "user.cuesta.layout")));
    assertNull(system.getXAttr(FILE, "user.cuesta.colour"));
    assertEquals(4, system.listXAttrs(FILE).size());
  }

  @Test
  void ofTwoWhoMakeANewFileOneDoes() throws IOException {
    FSDataOutputStream first = system.create(FILE, false);
    FSDataOutputStream second = system.create(FILE, false);
    second.write(2);
    second.close();
    first.write(1);
    assertThrows(FileAlreadyExistsException.class, first::close);
    try (FSDataInputStream in = system.open(FILE)) {
      assertEquals(2, in.read());
    }
  }

  @Test
  void filesThatArePutTogetherHaveAllTheirBytes() throws IOException {
    int[] ends = {0, BYTES / 2, BYTES / 2 + 300_000, BYTES};
    Path[] parts = new Path[3];
    for (int part = 0; part < parts.length; part++) {
      parts[part] = new Path(FILE.getParent(), "part-" + part);
      write(parts[part], "through", Arrays.copyOfRange(content, ends[part], ends[part + 1]));
    }
    system.concat(parts[0], new Path[] {parts[1], parts[2]});
    byte[] found = new byte[BYTES];
    try (FSDataInputStream in = system.open(parts[0])) {
      in.readFully(0, found);
    }
    assertEquals(BYTES, system.getFileStatus(parts[0]).getLen());
    assertArrayEquals(content, found);
    assertFalse(system.exists(parts[1]));
  }

  @Test
  void aByteMayFollowBytesThatFillTheBuffer() throws IOException {
    // Cause: bytes that fit exactly left the buffer full, and a single byte was put before a flush.
    // Symptom: BufferOverflowException from write(int). Fix: flush a full buffer first.
    for (int before = Limits.BUFFER_BYTES - 2; before <= Limits.BUFFER_BYTES + 2; before++) {
      try (FSDataOutputStream out = system.create(FILE)) {
        out.write(content, 0, before);
        for (int next = before; next < before + 3; next++) {
          out.write(content[next]);
        }
        out.write(content, before + 3, Limits.BUFFER_BYTES);
      }
      byte[] expected = Arrays.copyOf(content, before + 3 + Limits.BUFFER_BYTES);
      byte[] actual = new byte[expected.length];
      try (FSDataInputStream in = system.open(FILE)) {
        in.readFully(0, actual);
      }
      assertEquals(expected.length, system.getFileStatus(FILE).getLen());
      assertArrayEquals(expected, actual);
    }
  }

  @Test
  void anAbortedFileIsNotThere() throws IOException {
    FSDataOutputStream out = system.create(FILE);
    out.write(content);
    assertFalse(out.abort().alreadyClosed());
    assertNull(out.abort().anyCleanupException());
    out.close();
    assertThrows(FileNotFoundException.class, () -> system.open(FILE));
  }

  @Test
  void closeNamesAFileAfterAnExceptionUnlessItIsAborted() throws IOException {
    // Hadoop's contract: a stream is not told of the exception that `try` closes it for.
    assertThrows(IllegalStateException.class, () -> writeAndFail(false));
    assertEquals(content.length, system.getFileStatus(FILE).getLen());
    system.delete(FILE, false);
    assertThrows(IllegalStateException.class, () -> writeAndFail(true));
    assertFalse(system.exists(FILE));
  }

  private void writeAndFail(boolean aborts) throws IOException {
    try (FSDataOutputStream out = system.create(FILE)) {
      try {
        out.write(content);
        throw new IllegalStateException();
      } catch (IllegalStateException error) {
        if (aborts) {
          out.abort();
        }
        throw error;
      }
    }
  }

  @Test
  void aFolderIsRenamedWithFilesThatAreInMemoryAlone() throws IOException {
    Path folder = new Path(FILE.getParent(), "folder");
    write(new Path(folder, "deep/a"), "memory", content);
    write(new Path(folder, "b"), "through", content);
    Path to = new Path(FILE.getParent(), "to");
    assertTrue(system.rename(folder, to));
    assertFalse(system.exists(folder));
    for (String name : List.of("deep/a", "b")) {
      assertEquals(BYTES, system.getFileStatus(new Path(to, name)).getLen());
    }
  }

  @Test
  void aNameWithAColonIsListedAndRead() throws IOException {
    Path named = new Path(FILE.getParent(), new Path(null, null, "12:30:00.log"));
    write(named, "through", new byte[] {3});
    FileStatus[] found = system.listStatus(FILE.getParent());
    assertEquals(1, found.length);
    assertEquals("12:30:00.log", found[0].getPath().getName());
    try (FSDataInputStream in = system.open(found[0].getPath())) {
      assertEquals(3, in.read());
    }
  }

  @Test
  void aFolderIsNotRenamedOntoOneThatHasFiles() throws IOException {
    for (String mode : List.of("through", "memory")) {
      Path from = new Path(FILE.getParent(), "from-" + mode);
      Path to = new Path(FILE.getParent(), "to-" + mode);
      write(new Path(from, "a"), mode, new byte[1]);
      write(new Path(to, "b"), mode, new byte[1]);
      CuestaFileSystem own = (CuestaFileSystem) system;
      assertThrows(PathIsNotEmptyDirectoryException.class, () -> own.rename(from, to, true));
      assertTrue(system.exists(new Path(from, "a")));
      assertEquals(1, system.listStatus(to).length);
    }
  }

  @Test
  void wrongSettingsAreOneLine() {
    assertTrue(refusal("fs.cuesta.wriet", "back").contains("fs.cuesta.wriet is not known; known"));
    assertTrue(refusal(StoreSettings.WRITE, "never").contains("choose from back, bypass"));
    assertTrue(refusal(StoreSettings.STORE, "/none").contains("no store runs in /none; start one"));
    IOException host =
        assertThrows(
            IOException.class,
            () -> FileSystem.newInstance(URI.create("cuesta://host/a"), new Configuration()));
    assertTrue(host.getMessage().contains("names a host, host; give cuesta:///path"));
  }

  private static String refusal(String key, String value) {
    Configuration conf = new Configuration();
    conf.set(key, value);
    return assertThrows(IOException.class, () -> FileSystem.newInstance(ROOT, conf)).getMessage();
  }

  private void write(Path path, String mode, byte[] bytes) throws IOException {
    FSDataOutputStreamBuilder<?, ?> builder = system.createFile(path).recursive();
    try (FSDataOutputStream out = builder.opt(StoreSettings.WRITE, mode).build()) {
      out.write(bytes);
    }
  }
}
