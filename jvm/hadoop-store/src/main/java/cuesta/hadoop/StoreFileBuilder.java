package cuesta.hadoop;

import java.io.IOException;
import java.util.Set;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.Path;

/**
 * A file that is to be written: {@code createFile(path).opt("fs.cuesta.write", "memory").build()}.
 */
final class StoreFileBuilder
    extends FSDataOutputStreamBuilder<FSDataOutputStream, StoreFileBuilder> {
  private final CuestaFileSystem system;
  private final Path path;

  StoreFileBuilder(CuestaFileSystem system, Path path) {
    super(system, path);
    this.system = system;
    this.path = path;
  }

  @Override
  public StoreFileBuilder getThisBuilder() {
    return this;
  }

  @Override
  public FSDataOutputStream build() throws IOException {
    rejectUnknownMandatoryKeys(Set.of(StoreSettings.WRITE), "for " + path);
    if (getFlags().contains(CreateFlag.APPEND)) {
      return system.append(path);
    }
    String write = getOptions().getTrimmed(StoreSettings.WRITE, "");
    StoreSettings.checkMode(write);
    if (!isRecursive()) {
      system.checkParent(path);
    }
    boolean overwrites = getFlags().contains(CreateFlag.OVERWRITE);
    return system.create(path, getPermission(), overwrites, write.isEmpty() ? null : write);
  }
}
