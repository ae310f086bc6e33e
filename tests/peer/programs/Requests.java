import java.io.PrintWriter;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.lttng.ust.agent.jul.LttngLogHandler;

/** The requests of requests.c, one after another, by java.util.logging.  usage: Requests LOG REQUESTS */
public class Requests {
    private static final Logger LOG = Logger.getLogger("shop");

    private static String noted(String said) {
        long before = System.nanoTime();
        LOG.info(said);
        return before + " " + System.nanoTime();
    }

    public static void main(String[] args) throws Exception {
        LttngLogHandler handler = new LttngLogHandler();
        LOG.setUseParentHandlers(false);
        LOG.setLevel(Level.INFO);
        LOG.addHandler(handler);
        while (handler.getEventCount() == 0) { // the agent has not heard yet what is recorded
            LOG.info("waits");
            Thread.sleep(10);
        }
        System.out.println("ready");
        System.in.read();
        try (PrintWriter file = new PrintWriter(args[0])) {
            for (int id = 0; id < Integer.parseInt(args[1]); id++) {
                String kind = id % 3 == 0 ? "PUT" : "GET";
                int status = id % 5 == 0 ? 503 : 200;
                String begin = noted("begin id=" + id + " kind=" + kind);
                Thread.sleep(1);
                file.println(id + " " + kind + " " + status + " " + begin + " "
                             + noted("end id=" + id + " status=" + status));
            }
        }
        LOG.removeHandler(handler);
        handler.close();
    }
}
