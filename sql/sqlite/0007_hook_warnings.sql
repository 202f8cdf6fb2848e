-- What differed from what a body said it was: see the same on PostgreSQL.
alter table hooks add column last_warned_at text;
alter table hooks add column last_warning text;
