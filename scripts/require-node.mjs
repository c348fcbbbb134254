// Stops with one clear line under a Node that cannot load the SQLite addon (system Node 20 would crash in it).
const major = Number(process.versions.node.split('.')[0])
if (major !== 24) {
  process.stderr.write(
    `fieldgate: Node 24 is needed, found ${process.versions.node}; run through npm, which brings its own\n`,
  )
  process.exit(2)
}
