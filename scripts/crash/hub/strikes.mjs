import { setTimeout as sleep } from 'node:timers/promises'

/** What is struck; the parts that are frozen are not among those of a run without `--what`. */
export const KINDS = ['hub', 'primary', 'store', 'gateway', 'frozen-hub', 'frozen-store']

/**
 * Creates the strikes against the parts of a hub.
 *
 * @param flags `lagMs`, `downMs` and `frozenMs`, each the most of a random time
 * @returns strike by kind; each comes back when the part is there again, with the ms until the hub, or the gateway, went on
 */
export function createStrikes({ pair, objects, processes }, { random, lagMs, downMs, frozenMs }) {
  const anyOf = (count) => Math.floor(random() * count)
  return {
    /** Kills a process. @returns ms until another one acknowledges a write */
    async hub({ load }) {
      const killed = processes[anyOf(processes.length)]
      const sinceMs = performance.now()
      await killed.kill()
      const tookMs = (await load.next('rows')) - sinceMs
      await sleep(downMs * random())
      await killed.start()
      return tookMs
    },
    /** Kills the primary; its standby takes over. @returns ms until writes go on */
    async primary({ load }) {
      await pair.holdLog()
      await sleep(lagMs * random())
      const sinceMs = performance.now()
      await pair.kill()
      const next = load.next('rows')
      await pair.promote()
      const tookMs = (await next) - sinceMs
      await pair.renew()
      return tookMs
    },
    /**
     * Kills an object server.
     *
     * @returns ms until models are taken: by the others, or by it alone from its start
     */
    async store({ load }) {
      const at = anyOf(objects.servers)
      let sinceMs = performance.now()
      await objects.kill(at)
      let tookMs
      if (objects.servers > 1) tookMs = (await load.next('models')) - sinceMs
      await sleep(downMs * random())
      sinceMs = performance.now()
      await objects.start(at)
      return tookMs ?? (await load.next('models')) - sinceMs
    },
    /** Kills the gateway, and starts it again. @returns ms until it answers */
    async gateway({ gateway }) {
      await gateway.kill()
      return await gateway.start()
    },
    /**
     * Stops a process for a while. Calls that it has got wait for it.
     *
     * @returns ms until a write that began after this is acknowledged
     */
    async 'frozen-hub'({ load }) {
      const frozen = processes[anyOf(processes.length)]
      const sinceMs = performance.now()
      await frozen.freeze()
      const next = load.next('rows')
      await sleep(frozenMs * random())
      frozen.thaw()
      return (await next) - sinceMs
    },
    /** Stops an object server for a while. @returns ms until models are taken, by the others or after its end */
    async 'frozen-store'({ load }) {
      const at = anyOf(objects.servers)
      let sinceMs = performance.now()
      objects.freeze(at)
      let tookMs
      if (objects.servers > 1) tookMs = (await load.next('models')) - sinceMs
      await sleep(frozenMs * random())
      sinceMs = performance.now()
      objects.thaw(at)
      return tookMs ?? (await load.next('models')) - sinceMs
    },
  }
}
