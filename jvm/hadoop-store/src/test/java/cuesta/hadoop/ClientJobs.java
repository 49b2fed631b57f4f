package cuesta.hadoop;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.examples.terasort.TeraGen;
import org.apache.hadoop.examples.terasort.TeraSort;
import org.apache.hadoop.examples.terasort.TeraValidate;
import org.apache.hadoop.tools.DistCp;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

/**
 * Programs of Hadoop one after the other on the local job runner: {@code FOLDER NAME WORD... --
 * NAME WORD...}; the exit code is that of the first that fails.
 */
public final class ClientJobs {
  private ClientJobs() {}

  public static void main(String[] words) throws Exception {
    Configuration conf = new Configuration();
    conf.set("hadoop.tmp.dir", words[0]);
    conf.set("mapreduce.framework.name", "local");
    List<String> job = new ArrayList<>();
    for (String word : Arrays.asList(words).subList(1, words.length)) {
      if (!word.equals("--")) {
        job.add(word);
        continue;
      }
      run(conf, job);
      job.clear();
    }
    run(conf, job);
  }

  private static void run(Configuration conf, List<String> job) throws Exception {
    Configuration own = new Configuration(conf);
    Tool tool = tool(job.get(0), own);
    String[] words = job.subList(1, job.size()).toArray(String[]::new);
    int code = ToolRunner.run(own, tool, words);
    System.out.println(job.get(0) + " ended with " + code);
    if (code != 0) {
      System.exit(code);
    }
  }

  private static Tool tool(String name, Configuration conf) throws Exception {
    switch (name) {
      case "teragen":
        return new TeraGen();
      case "terasort":
        return new TeraSort();
      case "teravalidate":
        return new TeraValidate();
      default:
        return new DistCp(conf, null);
    }
  }
}
