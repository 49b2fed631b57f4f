package cuesta.hadoop;

import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.InvalidPathHandleException;
import org.apache.hadoop.fs.PathHandle;

/** Names what is at a path: any file, or one of a size and a time of change alone. */
record StoreHandle(String path, long sizeBytes, long modifiedMs) implements PathHandle {
  private static final long serialVersionUID = 1;
  private static final long ANY = -1;

  static StoreHandle exact(String path, FileStatus status) {
    return new StoreHandle(path, status.getLen(), status.getModificationTime());
  }

  static StoreHandle any(String path) {
    return new StoreHandle(path, ANY, ANY);
  }

  /** Errors: InvalidPathHandleException for one of another file system. */
  static StoreHandle of(PathHandle handle) throws IOException {
    if (handle instanceof StoreHandle own) {
      return own;
    }
    try {
      ByteBuffer bytes = handle.bytes();
      long sizeBytes = bytes.getLong();
      long modifiedMs = bytes.getLong();
      String path = StandardCharsets.UTF_8.decode(bytes).toString();
      return new StoreHandle(path, sizeBytes, modifiedMs);
    } catch (BufferUnderflowException error) {
      throw new InvalidPathHandleException("it is no handle of cuesta:///");
    }
  }

  /** Whether a file under the path is what it names. */
  boolean names(FileVersion version) {
    long modified = TimeUnit.NANOSECONDS.toMillis(version.modifiedNs());
    return sizeBytes == ANY || sizeBytes == version.sizeBytes() && modifiedMs == modified;
  }

  @Override
  public ByteBuffer bytes() {
    byte[] text = path.getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(2 * Long.BYTES + text.length)
        .putLong(sizeBytes)
        .putLong(modifiedMs)
        .put(text)
        .flip();
  }
}
