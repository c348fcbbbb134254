import type { Log } from '../log.js'
import { findIsolation, type Isolation, type IsolationOptions } from './isolation.js'
import { writeIsolation } from './isolation-record.js'

/**
 * Returns a function that probes the isolation at its first call, logs it, and writes it to a file for
 * `doctor`. Most gateways never run a module, so most never probe.
 *
 * @throws Error (from the returned function) when namespaces are required and cannot be created
 */
export function createIsolationProbe(
  options: IsolationOptions,
  recordFile: string,
  log: Pick<Log, 'info' | 'warn'>,
): () => Promise<Isolation> {
  let found: Promise<Isolation> | undefined
  const probe = async () => {
    const isolation = await findIsolation(options)
    const { kind, hasOwnNetwork, reason } = isolation
    if (reason === null) log.info({ isolation: kind, hasOwnNetwork }, 'isolation of modules')
    else log.warn({ isolation: kind, reason }, 'modules can read all files of this user')
    if (kind === 'namespaces' && !hasOwnNetwork && options.network === 'none')
      log.warn('modules can use the network of the device: the system forbids network namespaces')
    try {
      writeIsolation(recordFile, options.mode, isolation)
    } catch (error) {
      log.warn({ err: error }, 'the isolation of modules could not be recorded for doctor')
    }
    return isolation
  }
  return () => {
    found ??= probe()
    return found
  }
}
