import type { Command } from 'commander'
import { layoutOf } from '../../files/layout.js'
import type { CliDeps, CliIo, GlobalOptions } from '../io.js'
import { createProgress } from '../progress.js'
import { readSettings } from '../settings.js'
import { printChecks } from '../support/doctor.js'

interface DoctorFlags extends GlobalOptions {
  sizes?: boolean
}

/** Adds `hub doctor`: checks the engines of a hub and the bytes that its rows name. */
export function addHubDoctor(hub: Command, io: CliIo, deps: CliDeps): void {
  hub
    .command('doctor')
    .description(
      'checks database, standby, clock, bucket and the maps of --data-dir, that all models, citations, files of profiles, files of rows and uploads on their way have their bytes, and names objects that no row names; exit code 0 ok, 1 warning, 2 error',
    )
    .option('--sizes', 'compares sizes alone, and reads no bytes')
    .action(async (_options, command: Command) => {
      const flags = command.optsWithGlobals<DoctorFlags>()
      const { config, dataDir } = readSettings(flags, deps)
      const { examineHub } = await import('../../gateway/hub/doctor/examine.js')
      const progress = createProgress(io.stderr)
      try {
        const checks = await examineHub({
          config,
          layout: layoutOf(dataDir, config.encryption.keyFile),
          readsBytes: flags.sizes !== true,
          nowMs: Date.now,
          onProgress: (what) => progress.show(undefined, what),
        })
        progress.clear()
        printChecks(io, checks, flags.json === true)
      } finally {
        progress.clear()
      }
    })
}
