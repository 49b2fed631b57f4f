package cuesta.hadoop;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Version of a file's content: while it is the same, so are all bytes. */
record FileVersion(long device, long inode, long sizeBytes, long modifiedNs, long changedNs) {
  private static final String ATTRIBUTES =
      "unix:dev,ino,size,lastModifiedTime,ctime,isDirectory";

  static FileVersion of(StoreReply reply) throws IOException {
    return new FileVersion(
        reply.number("device"),
        reply.number("inode"),
        reply.number("size_bytes"),
        reply.number("modified_ns"),
        reply.number("changed_ns"));
  }

  /** The version at a path now; a link is not followed. Errors: those of the system. */
  static FileVersion of(Path file) throws IOException {
    Map<String, Object> facts = Files.readAttributes(file, ATTRIBUTES, LinkOption.NOFOLLOW_LINKS);
    return new FileVersion(
        (Long) facts.get("dev"),
        (Long) facts.get("ino"),
        (Long) facts.get("size"),
        ((FileTime) facts.get("lastModifiedTime")).to(TimeUnit.NANOSECONDS),
        ((FileTime) facts.get("ctime")).to(TimeUnit.NANOSECONDS));
  }

  /** Whether it is the version {@code before}, or that version flushed from memory to a file. */
  boolean hasSameBytes(FileVersion before) {
    boolean isFlushed = before.isAlone() && !isAlone();
    boolean isAlike = sizeBytes == before.sizeBytes && modifiedNs == before.modifiedNs;
    return equals(before) || isFlushed && isAlike;
  }

  /** Whether it is in memory alone. */
  boolean isAlone() {
    return device == 0;
  }
}
