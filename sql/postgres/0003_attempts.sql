-- Of an endpoint: the sources and types of activities that it takes, and its custom headers, as one text: their names, and
-- then all of it sealed, with spaces between. Of a delivery: the last ten attempts, oldest first.
alter table webhook_endpoints add column sources json, add column log_types json, add column headers text;
alter table webhook_deliveries add column last_attempts json not null default '[]';
