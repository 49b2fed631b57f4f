package cuesta.hadoop;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;

/** Two different jars on a class path would be mixed, class by class. */
final class OneJar {
  /** Says what a jar was compiled from. */
  private static final String ORIGIN = "META-INF/cuesta-hadoop-store";

  private OneJar() {}

  /** Checks that the class path has one version of this jar. Errors: IOException naming all. */
  static void check() throws IOException {
    Map<String, URL> found = new TreeMap<>();
    ClassLoader loader = OneJar.class.getClassLoader();
    for (URL place : Collections.list(loader.getResources(ORIGIN))) {
      try (InputStream in = place.openStream()) {
        found.put(new String(in.readAllBytes()), place);
      }
    }
    if (found.size() > 1) {
      String places = String.join(" and ", found.values().stream().map(OneJar::shown).toList());
      throw new IOException(
          "two jars of cuesta's store are on the class path: " + places + "; remove one");
    }
  }

  private static String shown(URL place) {
    return place.toString().replaceAll("^jar:", "").replaceAll("!?/" + ORIGIN + "$", "");
  }
}
