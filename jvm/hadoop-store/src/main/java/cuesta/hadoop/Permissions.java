package cuesta.hadoop;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.permission.FsPermission;

/** Permission bits of files and folders that are made: those of the writer, or fewer. */
final class Permissions {
  private static final int ALL = 0777;
  private static final int UMASK_PRIVATE = 0077;
  private static final int OCTAL = 8;
  private static final String UMASK = "Umask:";

  /** In the refusal of a daemon of a version before, which makes files with its own umask. */
  private static final String UNKNOWN = "unknown field `permissions`";

  private Permissions() {}

  /** Returns what Hadoop's umask and that of this process leave of a permission. */
  static int of(FsPermission permission, Configuration conf) {
    return masked(permission.applyUMask(FsPermission.getUMask(conf)).toShort());
  }

  /** Returns the bits of a file without any wish. */
  static int ofFile() {
    return masked(FsPermission.getFileDefault().toShort());
  }

  /** Returns the bits of a folder without any wish. */
  static int ofFolder() {
    return masked(FsPermission.getDirDefault().toShort());
  }

  /** Whether a store refused bits that it does not know. */
  static boolean isUnknown(StoreRefusal refusal) {
    return refusal.getMessage().contains(UNKNOWN);
  }

  private static int masked(int bits) {
    int umask = UMASK_PRIVATE;
    try {
      for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
        if (line.startsWith(UMASK)) {
          umask = Integer.parseInt(line.substring(UMASK.length()).trim(), OCTAL);
        }
      }
    } catch (IOException | NumberFormatException error) {
      // Then they are for the owner alone.
    }
    return bits & ALL & ~umask;
  }
}
