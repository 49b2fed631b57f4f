package cuesta.hadoop;

import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.LinkOption;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A block of the store, mapped, for as long as somebody uses it.
 *
 * <p>A block never changes or shrinks once it is sealed, so a mapping has a page behind every byte.
 * Its pages go back when the last user lets go, and not when the collector of garbage comes by: a
 * block that has left the store would keep its memory until then.
 */
final class StoredBlock {
  private static final Unmapper UNMAPPER = Unmapper.find();
  private static final Set<OpenOption> OPTIONS =
      Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS);

  private final ByteBuffer[] parts;

  /** Number of users, at first its maker; none may begin once it is 0. */
  private final AtomicInteger users = new AtomicInteger(1);

  private StoredBlock(ByteBuffer[] parts) {
    this.parts = parts;
  }

  /** Maps the file of a block of so many bytes. Errors: IOException for one of another size. */
  static StoredBlock open(Path file, long sizeBytes) throws IOException {
    TrustedFolder.checkBlock(file);
    boolean wasInterrupted = false;
    try {
      while (true) {
        // An interrupted thread may open no channel; the interrupt is kept for later.
        wasInterrupted |= Thread.interrupted();
        try (FileChannel channel = FileChannel.open(file, OPTIONS)) {
          return new StoredBlock(mapped(channel, sizeBytes));
        } catch (ClosedByInterruptException interrupted) {
          wasInterrupted = true;
        }
      }
    } finally {
      if (wasInterrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private static ByteBuffer[] mapped(FileChannel channel, long sizeBytes) throws IOException {
    if (channel.size() != sizeBytes) {
      throw new IOException("a block of " + sizeBytes + " bytes has " + channel.size());
    }
    long partBytes = 1L << Limits.MAPPING_BITS;
    ByteBuffer[] parts = new ByteBuffer[(int) ((sizeBytes + partBytes - 1) / partBytes)];
    for (int i = 0; i < parts.length; i++) {
      long start = i * partBytes;
      long count = Math.min(partBytes, sizeBytes - start);
      parts[i] = channel.map(FileChannel.MapMode.READ_ONLY, start, count);
    }
    return parts;
  }

  /** Begins to use it; false where its last user has let go. */
  boolean acquire() {
    for (int now = users.get(); now > 0; now = users.get()) {
      if (users.compareAndSet(now, now + 1)) {
        return true;
      }
    }
    return false;
  }

  /** Lets go. */
  void release() {
    if (users.decrementAndGet() == 0) {
      for (ByteBuffer part : parts) {
        UNMAPPER.unmap(part);
      }
    }
  }

  /** Copies at most so many bytes from a place in it on; how many. */
  int copy(long within, ByteBuffer into, int most) {
    ByteBuffer part = parts[(int) (within >>> Limits.MAPPING_BITS)];
    int place = (int) (within & ((1 << Limits.MAPPING_BITS) - 1));
    int count = Math.min(most, part.limit() - place);
    into.put(into.position(), part, place, count);
    into.position(into.position() + count);
    return count;
  }

  /** As {@link #copy(long, ByteBuffer, int)}, into an array. */
  int copy(long within, byte[] into, int offset, int most) {
    ByteBuffer part = parts[(int) (within >>> Limits.MAPPING_BITS)];
    int place = (int) (within & ((1 << Limits.MAPPING_BITS) - 1));
    int count = Math.min(most, part.limit() - place);
    part.get(place, into, offset, count);
    return count;
  }

  /** A byte. */
  int at(long within) {
    ByteBuffer part = parts[(int) (within >>> Limits.MAPPING_BITS)];
    return part.get((int) (within & ((1 << Limits.MAPPING_BITS) - 1))) & 0xff;
  }

  /** At most so many bytes as they lie in memory, valid while it is used. */
  ByteBuffer view(long within, int most) {
    ByteBuffer part = parts[(int) (within >>> Limits.MAPPING_BITS)];
    int place = (int) (within & ((1 << Limits.MAPPING_BITS) - 1));
    return part.slice(place, Math.min(most, part.limit() - place));
  }

  /** Gives the pages of a mapping back; where Java has no way, the collector does later. */
  private record Unmapper(Object unsafe, Method method) {
    static Unmapper find() {
      try {
        Class<?> type = Class.forName("sun.misc.Unsafe");
        Field field = type.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        return new Unmapper(field.get(null), type.getMethod("invokeCleaner", ByteBuffer.class));
      } catch (ReflectiveOperationException | RuntimeException error) {
        return new Unmapper(null, null);
      }
    }

    void unmap(ByteBuffer mapping) {
      if (method != null) {
        try {
          method.invoke(unsafe, mapping);
        } catch (ReflectiveOperationException error) {
          // The collector does it later.
        }
      }
    }
  }
}
