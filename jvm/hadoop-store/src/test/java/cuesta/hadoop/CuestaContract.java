package cuesta.hadoop;

import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.contract.AbstractFSContract;

/** Contract of the store as a file system of Hadoop: {@code contract/cuesta.xml}. */
final class CuestaContract extends AbstractFSContract {
  CuestaContract(Configuration conf) {
    super(conf);
    addConfResource("contract/cuesta.xml");
  }

  @Override
  public FileSystem getTestFileSystem() throws IOException {
    return FileSystem.get(URI.create("cuesta:///"), getConf());
  }

  @Override
  public String getScheme() {
    return CuestaFileSystem.SCHEME;
  }

  @Override
  public Path getTestPath() {
    return new Path("/test");
  }
}
