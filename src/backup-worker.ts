import type { MessagePort } from 'node:worker_threads'
import { makeBackup } from './backup/make-backup.js'
import type { BackupJob } from './backup-services.js'
import type { JobWorkerData } from './job-worker.js'
import { offerNativeDir } from './storage/native.js'
import { serveWork, throwIfCancelled } from './worker/host.js'

/** The thread that makes one backup and ends. */
export function runBackupWorker(port: MessagePort, { layout }: Pick<JobWorkerData, 'layout'>): void {
  offerNativeDir(layout.nativeDir)
  serveWork(port, {
    'backup.make': (job: BackupJob, work) => makeBackup({ ...job, onProgress: () => throwIfCancelled(work) }),
  })
}
