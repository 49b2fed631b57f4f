package cuesta.hadoop;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.ParentNotDirectoryException;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathIsNotEmptyDirectoryException;
import org.apache.hadoop.security.AccessControlException;

/** Exceptions of Hadoop for the refusals of a store or the system. */
final class Failures {
  private Failures() {}

  /** For what was to be there. */
  static IOException of(Path path, IOException error) {
    if (error instanceof NoSuchFileException) {
      return missing(path);
    }
    if (error instanceof AccessDeniedException) {
      return new AccessControlException(path + ": " + error.getMessage());
    }
    if (!(error instanceof StoreRefusal refusal)) {
      return error;
    }
    switch (refusal.errno) {
      case StoreRefusal.NO_ENTRY:
      case StoreRefusal.NO_FOLDER:
        return missing(path);
      case StoreRefusal.IS_FOLDER:
        return new FileNotFoundException(path + " is a directory");
      case StoreRefusal.DENIED:
        return new AccessControlException(refusal.getMessage());
      case StoreRefusal.NOT_EMPTY:
        return new PathIsNotEmptyDirectoryException(path.toString());
      default:
        return new IOException("store: " + refusal.getMessage(), refusal);
    }
  }

  /** For what was to be made. */
  static IOException making(Path path, IOException error) {
    int errno = error instanceof StoreRefusal refusal ? refusal.errno : 0;
    switch (errno) {
      case StoreRefusal.NO_FOLDER:
        return new ParentNotDirectoryException(path + ": a file is on the way to it");
      case StoreRefusal.EXISTS:
        return new FileAlreadyExistsException(path + " exists already");
      case StoreRefusal.IS_FOLDER:
        return new FileAlreadyExistsException(path + " is a directory");
      default:
        return of(path, error);
    }
  }

  static FileNotFoundException missing(Path path) {
    return new FileNotFoundException("No such file or directory: " + path);
  }
}
