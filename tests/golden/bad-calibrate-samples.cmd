# A file that is not one of samples.
calibrate --samples hwprofiles/hosts/toy.json --out /tmp/never.json
