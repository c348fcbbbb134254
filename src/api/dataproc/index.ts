import type { Method } from '../../rpc/define-method.js'
import type { DataprocContext } from './context.js'
import { exec } from './exec.js'
import { getServerVersion } from './get-server-version.js'
import { listModules } from './list-modules.js'
import {
  createTrigger,
  deleteTrigger,
  listTriggerRuns,
  listTriggers,
  runTrigger,
  updateTrigger,
} from './triggers.js'

export type { DataprocContext, TriggerContext } from './context.js'

/** Methods of `/api/v1/dataproc/jsonrpc` on a gateway that runs modules itself. */
export const DATAPROC_METHODS: readonly Method<DataprocContext>[] = [
  ...[getServerVersion, exec, listModules],
  ...[createTrigger, updateTrigger, deleteTrigger, runTrigger, listTriggers, listTriggerRuns],
]
