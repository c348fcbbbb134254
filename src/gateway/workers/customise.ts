import type { MessagePort } from 'node:worker_threads'
import type { Config } from '../../config/config.js'
import { customisePieces, type SharedRun } from '../../routing/cch/shared-customise.js'
import { yieldToMain } from './priority.js'

/** Runs a thread that helps with customisations: each message is a run, and is answered when no piece is left. */
export function runCustomiseWorker(port: MessagePort, { config }: { readonly config: Config }): void {
  yieldToMain('customise', config)
  port.on('message', (run: SharedRun) => {
    customisePieces(run)
    port.postMessage(undefined)
  })
}
