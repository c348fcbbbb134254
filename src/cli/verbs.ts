import type { Command } from 'commander'
import { addBackupCommand } from './backups/backup.js'
import { addRestoreCommand } from './backups/restore.js'
import { addVerifyCommand } from './backups/verify.js'
import { addBenchCommand } from './bench/bench.js'
import { addBundleCommands } from './bundles/bundle.js'
import { addConfigCommands } from './config.js'
import { addCiteCommands } from './data/cite.js'
import { addDataCommands } from './data/data.js'
import { addIngestCommands } from './data/ingest.js'
import { addRetentionCommands } from './data/retention.js'
import { addFleetCommands } from './fleet/hub.js'
import { addMemberCommands } from './fleet/member.js'
import { addHubCommands } from './hub/hub.js'
import type { CliDeps, CliIo } from './io.js'
import { addKeyCommands } from './keys/key.js'
import { addSessionCommands } from './keys/session.js'
import { addMapCommands } from './maps/map.js'
import { addModelCommands } from './models/model.js'
import { addDemoCommand } from './serving/demo-route.js'
import { addInitCommand } from './serving/init.js'
import { addDoctorCommand } from './support/doctor.js'
import { addSupportCommand } from './support/support.js'
import { addSyncCommands } from './sync.js'
import { addUpdateCommand } from './updates/update.js'
import { addVacuumCommand } from './vacuum.js'
import { addVersionCommand } from './version.js'

/** Adds every verb but `serve`, in the order of the help. */
export function addVerbs(program: Command, io: CliIo, deps: CliDeps): void {
  addInitCommand(program, io, deps)
  addKeyCommands(program, io, deps)
  addSessionCommands(program, io, deps)
  addMapCommands(program, io, deps)
  addDataCommands(program, io, deps)
  addRetentionCommands(program, io, deps)
  addIngestCommands(program, io, deps)
  addModelCommands(program, io, deps)
  addSyncCommands(program, io, deps)
  addBundleCommands(program, io, deps)
  addMemberCommands(program, io, deps)
  addFleetCommands(program, io, deps)
  addHubCommands(program, io, deps)
  addCiteCommands(program, io, deps)
  addBackupCommand(program, io, deps)
  addRestoreCommand(program, io, deps)
  addVerifyCommand(program, io, deps)
  addDoctorCommand(program, io, deps)
  addSupportCommand(program, io, deps)
  addBenchCommand(program, io, deps)
  addVacuumCommand(program, io, deps)
  addUpdateCommand(program, io, deps)
  addDemoCommand(program, io, deps)
  addConfigCommands(program, io, deps)
  addVersionCommand(program, io, deps)
}
