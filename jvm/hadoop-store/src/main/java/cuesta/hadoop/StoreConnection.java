package cuesta.hadoop;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/**
 * Questions to the daemon of a store, one after the other; not shared by threads.
 *
 * <p>It never blocks in the socket, so that an interrupted task does not close it for others: an
 * interrupt is seen by whoever called, afterwards. After an error but a refusal it is of no use.
 */
final class StoreConnection implements Closeable {
  private static final String SOCKET = "socket";
  private static final int LENGTHS_BYTES = 8;

  private final Path folder;
  private final long fillMs;
  private final SocketChannel channel;
  private final Selector selector;
  private final SelectionKey key;

  private StoreConnection(Path folder, long fillMs) throws IOException {
    this.folder = folder;
    this.fillMs = fillMs;
    Object identity = TrustedFolder.check(folder);
    TrustedFolder.checkSocket(folder, folder.resolve(SOCKET));
    channel = SocketChannel.open(StandardProtocolFamily.UNIX);
    try {
      channel.configureBlocking(false);
      // One that would wait to be admitted is refused: the store hangs then.
      if (!channel.connect(UnixDomainSocketAddress.of(folder.resolve(SOCKET)))) {
        throw lost(true);
      }
      TrustedFolder.checkServer(folder, identity, channel);
      selector = Selector.open();
      key = channel.register(selector, 0);
    } catch (IOException | RuntimeException error) {
      channel.close();
      throw error;
    }
  }

  /**
   * Connects. An answer is awaited for {@code fillMs} from a store that lives, in milliseconds.
   *
   * <p>Errors: StoreLost; TrustedFolder.Foreign, and nothing was sent.
   */
  static StoreConnection open(Path folder, long fillMs) throws StoreLost, TrustedFolder.Foreign {
    try {
      return new StoreConnection(folder, fillMs);
    } catch (StoreLost | TrustedFolder.Foreign error) {
      throw error;
    } catch (IOException | RuntimeException error) {
      throw new StoreLost(folder.toString(), false);
    }
  }

  /**
   * The answer to a question.
   *
   * <p>Errors: StoreRefusal where the store says no; StoreLost where it has ended or hangs;
   * IOException where it lives and does not come to an end.
   */
  StoreReply ask(String question) throws IOException {
    say(question);
    return answer();
  }

  /** Asks, for an answer later; answers come in the order of questions. Errors: StoreLost. */
  void say(String question) throws StoreLost {
    byte[] text = question.getBytes(StandardCharsets.UTF_8);
    ByteBuffer message = lengths().putInt(text.length).putInt(0);
    ByteBuffer whole = ByteBuffer.allocate(LENGTHS_BYTES + text.length);
    whole.put(message.flip()).put(text).flip();
    try {
      while (whole.hasRemaining()) {
        if (channel.write(whole) == 0 && !await(SelectionKey.OP_WRITE, Limits.ANSWER_MS)) {
          throw lost(true);
        }
      }
    } catch (StoreLost lost) {
      throw lost;
    } catch (IOException error) {
      throw lost(false);
    }
  }

  /** The answer to the first question that has none. Errors: as {@link #ask}. */
  StoreReply answer() throws IOException {
    long started = System.nanoTime();
    byte[] text;
    byte[] payload;
    try {
      while (!await(SelectionKey.OP_READ, Limits.ANSWER_MS)) {
        if (!lives()) {
          throw lost(true);
        }
        if (TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - started) > fillMs) {
          throw new LateAnswer(fillMs / 1000);
        }
      }
      ByteBuffer lengths = received(lengths());
      int textBytes = lengths.getInt();
      int payloadBytes = lengths.getInt();
      if (textBytes < 0
          || textBytes > Limits.TEXT_BYTES
          || payloadBytes < 0
          || payloadBytes > Limits.PAYLOAD_BYTES) {
        throw lost(false);
      }
      text = received(ByteBuffer.allocate(textBytes)).array();
      payload = received(ByteBuffer.allocate(payloadBytes)).array();
    } catch (LateAnswer | StoreLost late) {
      throw late;
    } catch (IOException error) {
      throw lost(false);
    }
    return StoreReply.of(new String(text, StandardCharsets.UTF_8), payload);
  }

  /** Whether the store has ended, where no answer is awaited. */
  boolean hasEnded() {
    try {
      return channel.read(ByteBuffer.allocate(1)) != 0;
    } catch (IOException error) {
      return true;
    }
  }

  @Override
  public void close() {
    try {
      selector.close();
      channel.close();
    } catch (IOException error) {
      // The store gives back what was held when it sees the end of either.
    }
  }

  private StoreLost lost(boolean hangs) {
    return new StoreLost(folder.toString(), hangs);
  }

  private static ByteBuffer lengths() {
    return ByteBuffer.allocate(LENGTHS_BYTES).order(ByteOrder.LITTLE_ENDIAN);
  }

  private ByteBuffer received(ByteBuffer into) throws IOException {
    while (into.hasRemaining()) {
      int count = channel.read(into);
      if (count < 0 || count == 0 && !await(SelectionKey.OP_READ, Limits.ANSWER_MS)) {
        throw new EOFException();
      }
    }
    return into.flip();
  }

  /** Waits until the socket is ready; whether it is. */
  private boolean await(int operation, long waitMs) throws IOException {
    boolean wasInterrupted = false;
    key.interestOps(operation);
    long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(waitMs);
    try {
      while (true) {
        // An interrupted thread does not wait; the interrupt is kept for later.
        wasInterrupted |= Thread.interrupted();
        long left = TimeUnit.NANOSECONDS.toMillis(until - System.nanoTime());
        if (left <= 0) {
          return selector.selectNow() > 0;
        }
        if (selector.select(left) > 0) {
          return true;
        }
      }
    } finally {
      selector.selectedKeys().clear();
      if (wasInterrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Whether the store answers somebody else. */
  private boolean lives() {
    try (StoreConnection other = open(folder, 0)) {
      other.say(Json.question("ping"));
      return other.await(SelectionKey.OP_READ, Limits.PING_MS);
    } catch (IOException error) {
      return false;
    }
  }

  /** The store lives, and does not come to an end. */
  static final class LateAnswer extends IOException {
    private static final long serialVersionUID = 1;

    LateAnswer(long seconds) {
      super("the under level has not answered for " + seconds + " s");
    }
  }
}
