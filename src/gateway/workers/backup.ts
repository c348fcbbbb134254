import type { MessagePort } from 'node:worker_threads'
import { type BackupJob, makeBackup } from '../../backup/make-backup.js'
import { findDamage } from '../../doctor/find-damage.js'
import { offerNativeDir } from '../../storage/sqlite/connection/native.js'
import { createMaintenance } from '../../storage/sqlite/maintenance/maintenance.js'
import { serveWork, throwIfCancelled } from '../../worker/host.js'
import type { JobWorkerData } from './job.js'
import { yieldToMain } from './priority.js'

/** Runs a thread that makes one backup, or reads all pages once, and ends. */
export function runBackupWorker(port: MessagePort, { config, layout }: JobWorkerData): void {
  yieldToMain('backup', config)
  offerNativeDir(layout.nativeDir)
  serveWork(port, {
    'backup.make': (job: BackupJob, work) =>
      makeBackup({
        ...job,
        maintenance: createMaintenance(),
        onProgress: () => throwIfCancelled(work),
      }),
    'damage.find': (withRows: boolean, work) =>
      findDamage(layout.root, createMaintenance(), {
        withRows,
        onProgress: () => throwIfCancelled(work),
      }),
  })
}
