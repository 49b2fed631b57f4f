package cuesta.hadoop;

import java.io.EOFException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import org.apache.hadoop.fs.FileRange;
import org.apache.hadoop.fs.VectoredReadUtils;

/**
 * Several ranges of a file, each read by itself: there is no seek that joining them would save.
 *
 * <p>Ranges whose blocks this process has leased are there when the call returns, the others later,
 * in their order.
 */
final class VectoredRead {
  private static final ExecutorService THREADS = threads();

  private final StoredFile file;
  private final IntFunction<ByteBuffer> allocate;
  private final Consumer<ByteBuffer> release;
  private final Consumer<Integer> count;

  VectoredRead(
      StoredFile file,
      IntFunction<ByteBuffer> allocate,
      Consumer<ByteBuffer> release,
      Consumer<Integer> count) {
    this.file = file;
    this.allocate = Objects.requireNonNull(allocate);
    this.release = Objects.requireNonNull(release);
    this.count = count;
  }

  /** Errors: EOFException for a range past the end; IllegalArgumentException for wrong ranges. */
  void read(List<? extends FileRange> ranges) throws EOFException {
    for (FileRange range :
        VectoredReadUtils.validateAndSortRanges(ranges, Optional.of(file.sizeBytes()))) {
      CompletableFuture<ByteBuffer> data = new CompletableFuture<>();
      range.setData(data);
      if (file.isHeld(range.getOffset(), range.getLength())) {
        fill(range, data);
      } else {
        THREADS.execute(() -> fill(range, data));
      }
    }
  }

  private void fill(FileRange range, CompletableFuture<ByteBuffer> data) {
    ByteBuffer into = null;
    try {
      into = allocate.apply(range.getLength());
      int start = into.position();
      into.limit(start + range.getLength());
      for (long at = range.getOffset(); into.hasRemaining(); ) {
        at += file.read(into, at);
      }
      into.position(start);
      count.accept(range.getLength());
      data.complete(into);
    } catch (Throwable error) {
      // Whatever it is, somebody waits for the range.
      try {
        if (into != null) {
          release.accept(into);
        }
      } finally {
        data.completeExceptionally(error);
      }
      if (error instanceof Error fatal) {
        throw fatal;
      }
    }
  }

  private static ExecutorService threads() {
    ThreadPoolExecutor threads =
        new ThreadPoolExecutor(
            Limits.READ_THREADS,
            Limits.READ_THREADS,
            Limits.RECENT_MS,
            TimeUnit.MILLISECONDS,
            new LinkedBlockingQueue<>(),
            work -> {
              Thread thread = new Thread(work, "cuesta-read");
              thread.setDaemon(true);
              return thread;
            });
    threads.allowCoreThreadTimeOut(true);
    return threads;
  }
}
