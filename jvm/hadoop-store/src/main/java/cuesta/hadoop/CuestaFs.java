package cuesta.hadoop;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.Path;

/** The store for {@code FileContext}: {@code fs.AbstractFileSystem.cuesta.impl}. */
public final class CuestaFs extends DelegateToFileSystem {
  /** Errors: as those of {@link CuestaFileSystem#initialize}. */
  public CuestaFs(URI uri, Configuration conf) throws IOException, URISyntaxException {
    super(uri, new CuestaFileSystem(), conf, CuestaFileSystem.SCHEME, false);
  }

  @Override
  public void renameInternal(Path from, Path to, boolean overwrites) throws IOException {
    ((CuestaFileSystem) fsImpl).rename(from, to, overwrites);
  }

  @Override
  public void renameInternal(Path from, Path to) throws IOException {
    renameInternal(from, to, false);
  }

  @Override
  public int getUriDefaultPort() {
    return -1;
  }
}
