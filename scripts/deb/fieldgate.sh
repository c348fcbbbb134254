#!/bin/sh
# The settings of the service, and its user: a file of its data that belongs to root would stop it.
FIELDGATE_CONFIG="${FIELDGATE_CONFIG:-/etc/fieldgate/edge.config.json}"
export FIELDGATE_CONFIG
if [ "$(id -u)" = 0 ] && [ "$1" != update ]; then
  exec runuser -u fieldgate -- /usr/lib/fieldgate/fieldgate "$@"
fi
exec /usr/lib/fieldgate/fieldgate "$@"
