package cuesta.hadoop;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;

/**
 * Has a store killed, or started, or both before every tenth test: by the command of the system
 * property {@code cuesta.restart}, whose words are apart by tabs. Without it, it does nothing.
 */
public final class StoreKiller implements TestExecutionListener {
  private static final int EACH = 10;
  private static final long START_SECONDS = 30;

  private int tests;

  @Override
  public void executionStarted(TestIdentifier test) {
    String command = System.getProperty("cuesta.restart", "");
    if (test.isTest() && !command.isEmpty() && ++tests % EACH == 0) {
      try {
        Process restart = new ProcessBuilder(command.split("\t")).redirectErrorStream(true).start();
        byte[] said = restart.getInputStream().readAllBytes();
        if (!restart.waitFor(START_SECONDS, TimeUnit.SECONDS) || restart.exitValue() != 0) {
          throw new IllegalStateException(new String(said, StandardCharsets.UTF_8));
        }
      } catch (IOException | InterruptedException error) {
        throw new IllegalStateException(error);
      }
    }
  }
}
