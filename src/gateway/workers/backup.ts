import type { MessagePort } from 'node:worker_threads'
import { makeBackup } from '../../backup/make-backup.js'
import { offerNativeDir } from '../../storage/sqlite/connection/native.js'
import { serveWork, throwIfCancelled } from '../../worker/host.js'
import type { BackupJob } from '../backups.js'
import type { JobWorkerData } from './job.js'

/** Serves the thread that makes one backup. */
export function runBackupWorker(port: MessagePort, { layout }: Pick<JobWorkerData, 'layout'>): void {
  offerNativeDir(layout.nativeDir)
  serveWork(port, {
    'backup.make': (job: BackupJob, work) => makeBackup({ ...job, onProgress: () => throwIfCancelled(work) }),
  })
}
